#include "plan/simulate/switches.h"

#include <algorithm>

namespace pantoum::plan {
namespace {

constexpr std::array<SwitchInfo, static_cast<size_t>(Switch::kCount)> kSwitches{{
    {Switch::kPathCuts, "path-cuts", "bound: what is needed was in RAM, stored or made again since an earlier epoch"},
    {Switch::kStoredOnce, "stored-once", "bound: in a path cut, what is read from storage was written there, once"},
    {Switch::kPathStep, "path-step", "bound: of path cuts for one need only those that violate by a step more"},
    {Switch::kBoundaryCuts, "boundary-cuts", "bound: the memory rows of the boundaries are rounded and covered"},
    {Switch::kRecomputeCuts, "recompute-cuts",
     "bound: working sets of what is computed again beside what stays in RAM"},
    {Switch::kRetainedReads, "staying-reads", "bound: what the boundary's op reads and was not had again stays in RAM"},
    {Switch::kRounding, "rounding", "bound: Chvatal-Gomory rounding of knapsacks"},
    {Switch::kCovers, "covers", "bound: minimal covers of knapsacks"},
    {Switch::kCoverExtension, "cover-extension", "bound: covers are extended by what is as heavy as their heaviest"},
    {Switch::kFlowCuts, "flow-cuts", "bound: what an asynchronous pager moves takes its bytes and its time"},
    {Switch::kInOut, "in-out", "bound: cuts are sought halfway between the solution and a running mean"},
    {Switch::kForgetSlack, "forget-slack", "bound: cuts that were slack for some rounds are forgotten"},
    {Switch::kTail, "tail", "bound: rounds that bring little end it"},
    {Switch::kBoundaryRefinement, "ladder", "bound: few boundaries first, then twice as many"},
    {Switch::kRoomBoundaries, "room-boundaries", "bound: boundaries also where least room is left beside the op"},
    {Switch::kLastUses, "last-uses", "bound: no columns for what is of no use any more"},
    {Switch::kPinnedRoom, "pinned-room", "bound: what is pinned takes its bytes beside every op"},
    {Switch::kTimeCap, "time-cap", "bound: plans that take so long that they cost more than the best are left out"},
    {Switch::kBranching, "branching", "bound: what the cuts leave is closed by branch and bound"},
    {Switch::kFirstOrder, "first-order",
     "bound: large relaxations are solved by a first-order method, not the simplex"},
    {Switch::kStagePrice, "stage-price", "bound: the stage with the largest excess, as a fractional knapsack"},
    {Switch::kIncremental, "incremental", "search: only the stages that a change can reach are simulated"},
    {Switch::kPressedIntervals, "pressed-gaps", "search: gaps that no stage over the budget crosses are drawn seldom"},
    {Switch::kWantedIntervals, "wanted-gaps", "search: no gap after the last use of what no recomputation wants"},
    {Switch::kThresholds, "thresholds", "search: gaps are given up later than at once, and kept once had again"},
    {Switch::kPairs, "pairs", "search: two gaps are redrawn at once"},
    {Switch::kSwap, "swap", "search: one gap is kept for another that is given up"},
    {Switch::kShift, "shift", "search: one threshold is moved"},
    {Switch::kPageAhead, "page-ahead", "search: a page-in is moved ahead of its use, where time counts"},
    {Switch::kLean, "lean", "search: a gap is dropped, and what its recomputation reads is kept"},
    {Switch::kExchange, "exchange", "search: a large change, and the gaps around it settled anew"},
    {Switch::kIsomorphicParts, "twins", "search: what is good for one part is tried for parts that are alike"},
    {Switch::kSharing, "sharing", "search: chains that fell behind go on from the best plan of all"},
    {Switch::kRestarts, "restarts", "search: while nothing gets better, some chains begin anew"},
    {Switch::kOwnMeans, "own-means", "search: every second chain begins with paging or recomputing alone"},
    {Switch::kGuides, "guides", "search: parts of what such a chain found are tried by its neighbour"},
    {Switch::kLpRounding, "lp-start", "search: a chain begins near the relaxation's solution once there is one"},
    {Switch::kChoices, "choices", "search: ops' choices are changed together with what is kept"},
    {Switch::kReadBack, "read-back", "search: what was dropped is read from storage where that is cheaper"},
    {Switch::kLeanChoices, "lean-choices", "search: choices with less workspace where no policy fits"},
    {Switch::kLeanReads, "lean-reads", "search: a start from the choices that read the fewest bytes"},
    {Switch::kPrefetch, "prefetch", "search: page-ins are moved ahead of their uses"},
    {Switch::kLeastTime, "least-time", "search: a neighbour that is too dear even in its least time is not timed"},
    {Switch::kEarlier, "earlier", "search: where offsets cost the deadline, a plan is sought for an earlier one"},
    {Switch::kRoomier, "roomier", "search: where offsets cost time, a plan is sought for less RAM"},
    {Switch::kWriteCompletion, "landing",
     "placement: bytes that are being written out are not taken while others are free"},
    {Switch::kSmallArena, "small-arena", "placement: an arena that exceeds the load is made smaller than it must be"},
}};

}  // namespace

const std::array<SwitchInfo, static_cast<size_t>(Switch::kCount)>& all_switches() {
  return kSwitches;
}

std::optional<Switch> switch_named(std::string_view name) {
  const auto* found =
      std::find_if(kSwitches.begin(), kSwitches.end(), [&](const auto& each) { return each.name == name; });
  if (found == kSwitches.end()) return std::nullopt;
  return found->rule;
}

}  // namespace pantoum::plan
