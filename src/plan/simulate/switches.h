// A switch for every rule that bounds and search can do without: a cut, a kind of move, whatever leaves part of the
// work out. Without any of them bounds stay bounds and plans stay valid; they only get worse or come later. For tests
// and ablations (`--without`).
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pantoum::plan {

// The rules. `all_switches` defines them.
enum class Switch : uint8_t {
  kPathCuts,
  kStoredOnce,
  kPathStep,
  kBoundaryCuts,
  kRecomputeCuts,
  kRetainedReads,
  kRounding,
  kCovers,
  kCoverExtension,
  kFlowCuts,
  kInOut,
  kForgetSlack,
  kTail,
  kBoundaryRefinement,
  kRoomBoundaries,
  kOverfullBoundaries,
  kLastUses,
  kPinnedRoom,
  kTimeCap,
  kBranching,
  kFirstOrder,
  kStagePrice,
  kIncremental,
  kPressedIntervals,
  kWantedIntervals,
  kThresholds,
  kPairs,
  kSwap,
  kShift,
  kPageAhead,
  kEagerRecomputation,
  kLean,
  kExchange,
  kIsomorphicParts,
  kSharing,
  kRestarts,
  kOwnMeans,
  kGuides,
  kLpRounding,
  kChoices,
  kReadBack,
  kLeanChoices,
  kLeanReads,
  kPrefetch,
  kLeastTime,
  kEarlier,
  kRoomier,
  kReserveByStage,
  kPlacedAnnealing,
  kWriteCompletion,
  kSmallArena,
  kWarmStart,
  kCount
};

// The rules that are switched off.
class Without {
 public:
  static constexpr size_t kMost = 64;  // rules; switches.h checks it

  // Switches the rule off.
  void add(Switch rule) { off_.set(static_cast<size_t>(rule)); }
  // Is the rule switched off?
  bool has(Switch rule) const { return off_.test(static_cast<size_t>(rule)); }

 private:
  std::bitset<kMost> off_;
};

struct SwitchInfo {
  Switch rule;
  std::string_view name, definition;
};

// Returns all rules in the order of the enumeration.
const std::array<SwitchInfo, static_cast<size_t>(Switch::kCount)>& all_switches();
// Nothing: there is no such rule.
std::optional<Switch> switch_named(std::string_view name);

static_assert(static_cast<size_t>(Switch::kCount) <= Without::kMost);

}  // namespace pantoum::plan
