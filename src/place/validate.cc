// The placer's own judge: pairs against pairs, straight from the contract in place.h.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "place/place.h"

namespace pantoum::place {
namespace {

Result<void> check_one(const Stay& stay, Bytes at, size_t index, const Placement& placement,
                       const PlaceOptions& options) {
  if (at < 0 || at % std::max<Bytes>(1, options.align) != 0)
    return fail("E0312", fmt::format("stay {} is at {}, which is no multiple of {}", index, at, options.align));
  if (stay.fixed && *stay.fixed != at)
    return fail("E0312", fmt::format("stay {} is at {} and was fixed at {}", index, at, *stay.fixed));
  if (stay.begin >= stay.end) return {};  // never lives: takes no bytes
  if (stay.size > placement.arena_bytes || at > placement.arena_bytes - stay.size)
    return fail("E0312", fmt::format("stay {} ends above the arena of {} bytes", index, placement.arena_bytes));
  return {};
}

bool same_group(const Stay& a, const Stay& b) {
  return a.group >= 0 && a.group == b.group;
}

bool collide(const Stay& a, Bytes at_a, const Stay& b, Bytes at_b) {
  const bool in_time = a.begin < b.end && b.begin < a.end && a.begin < a.end && b.begin < b.end;
  const bool in_space = at_a < at_b + b.size && at_b < at_a + a.size && a.size > 0 && b.size > 0;
  return in_time && in_space;
}

}  // namespace

Result<void> validate(const std::vector<Stay>& stays, const Placement& placement, const PlaceOptions& options) {
  if (placement.at.size() != stays.size())
    return fail("E0312", fmt::format("{} stays and {} offsets", stays.size(), placement.at.size()));
  if (options.budget && placement.arena_bytes > *options.budget)
    return fail("E0312",
                fmt::format("the arena has {} bytes, and may have {}", placement.arena_bytes, *options.budget));
  std::unordered_map<int32_t, Bytes> offset_of_group;
  for (size_t stay = 0; stay < stays.size(); ++stay) {
    const Bytes at = placement.at[stay];
    PANTOUM_TRY(check_one(stays[stay], at, stay, placement, options));
    if (stays[stay].group >= 0 && offset_of_group.emplace(stays[stay].group, at).first->second != at)
      return fail("E0312", fmt::format("the stays of group {} have two offsets", stays[stay].group));
  }
  for (size_t first = 0; first < stays.size(); ++first)
    for (size_t second = first + 1; second < stays.size(); ++second)
      if (!same_group(stays[first], stays[second]) &&
          collide(stays[first], placement.at[first], stays[second], placement.at[second]))
        return fail("E0312", fmt::format("stays {} and {} overlap in time and space", first, second));
  return {};
}

}  // namespace pantoum::place
