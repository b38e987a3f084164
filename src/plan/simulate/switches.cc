#include "plan/simulate/switches.h"

namespace pantoum::plan {
namespace {

using enum Switch;

constexpr std::array<SwitchInfo, static_cast<size_t>(Switch::kCount)> kSwitches{{
    {kPathCuts, "path-cuts",
     "bound: a tensor that is needed was in RAM, in storage or recomputed since an earlier segment"},
    {kStoredOnce, "stored-once",
     "bound: in a path cut, what is read from storage was written there, and once is enough"},
    {kPathStep, "path-step", "bound: of the path cuts for one need, only those with a violation larger by a step"},
    {kBoundaryCuts, "boundary-cuts", "bound: the memory rows of the boundaries are rounded and covered"},
    {kRecomputeCuts, "recompute-cuts", "bound: working sets of recomputations, beside what is retained"},
    {kRetainedReads, "retained-reads", "bound: an input of the boundary's op that was not brought back was retained"},
    {kRounding, "rounding", "bound: Chvatal-Gomory rounding of knapsacks"},
    {kCovers, "covers", "bound: minimal covers of knapsacks"},
    {kCoverExtension, "cover-extension", "bound: covers are extended by items at least as heavy as their heaviest"},
    {kFlowCuts, "flow-cuts", "bound: the transfers of an asynchronous pager take their bytes and their time"},
    {kInOut, "in-out", "bound: cuts are sought halfway between the solution and a running mean (in-out separation)"},
    {kForgetSlack, "forget-slack", "bound: cuts that were slack for some rounds are dropped"},
    {kTail, "tail", "bound: rounds of cuts that raise the bound little end it"},
    {kBoundaryRefinement, "boundary-refinement", "bound: few boundaries first, then twice as many"},
    {kRoomBoundaries, "room-boundaries",
     "bound: boundaries also where the budget leaves least beside the op's working set"},
    {kOverfullBoundaries, "overfull-boundaries",
     "bound: where nothing is transferred, boundaries also where the last solution holds more than the budget"},
    {kLastUses, "last-uses", "bound: no columns for a tensor after its last use"},
    {kPinnedRoom, "pinned-room", "bound: pinned tensors take their bytes beside every op"},
    {kTimeCap, "time-cap", "bound: plans so slow that they cost more than the best so far are excluded"},
    {kBranching, "branching", "bound: branch and bound closes what the cuts leave"},
    {kFirstOrder, "first-order", "bound: a first-order method solves large relaxations in place of the simplex"},
    {kStagePrice, "stage-price", "bound: a fractional knapsack at the stage with the most bytes over the budget"},
    {kIncremental, "incremental", "search: only the stages that a change can reach are simulated"},
    {kPressedIntervals, "pressed-intervals", "search: intervals that cross no stage over the budget are drawn seldom"},
    {kWantedIntervals, "wanted-intervals",
     "search: no interval after the last use of a tensor that no recomputation reads"},
    {kThresholds, "thresholds", "search: a tensor is evicted later than at once, and retained again once recomputed"},
    {kPairs, "pairs", "search: two intervals are redrawn at once"},
    {kSwap, "swap", "search: one interval is retained in exchange for another that is evicted"},
    {kShift, "shift", "search: one threshold is moved"},
    {kPageAhead, "page-ahead", "search: a page-in is issued ahead of its use, where time counts"},
    {kEagerRecomputation, "eager-recomputation",
     "search: a tensor is recomputed ahead of its use, while an input of its op is there anyway"},
    {kLean, "lean", "search: an interval is dropped, and the inputs of its recomputation are retained"},
    {kExchange, "exchange", "search: a large change, after which the intervals around it are improved again"},
    {kIsomorphicParts, "isomorphic-parts", "search: a policy that is good for one part is tried for isomorphic parts"},
    {kSharing, "sharing", "search: annealings that fell behind continue from the best plan of all"},
    {kRestarts, "restarts", "search: while nothing improves, some annealings restart"},
    {kOwnMeans, "own-means", "search: every second annealing starts with paging alone or rematerialization alone"},
    {kGuides, "guides", "search: parts of what such an annealing found are tried by its neighbour"},
    {kLpRounding, "lp-rounding", "search: an annealing starts near the relaxation's solution once there is one"},
    {kChoices, "choices", "search: the choices of ops change together with the policy"},
    {kReadBack, "read-back", "search: a dropped tensor is read from storage where that is cheaper"},
    {kLeanChoices, "lean-choices", "search: choices with less workspace, where no policy fits"},
    {kLeanReads, "lean-reads", "search: a start from the choices that read the fewest bytes"},
    {kPrefetch, "prefetch", "search: page-ins are issued ahead of their uses"},
    {kLeastTime, "least-time", "search: a neighbour that is too expensive even at its least time is not timed"},
    {kEarlier, "earlier", "search: where offsets cost the deadline, the search runs again with an earlier one"},
    {kRoomier, "roomier", "search: where offsets cost time, the search runs again with a smaller budget"},
    {kReserveByStage, "reserve",
     "search: bytes that offsets lacked at some stages are kept in reserve there, in place of a smaller budget"},
    {kPlacedAnnealing, "placed-annealing",
     "search: a plan without transfers is improved by neighbours that have offsets near its own"},
    {kWriteCompletion, "write-completion",
     "placement: bytes are not taken before their write completion while others are free"},
    {kSmallArena, "small-arena",
     "placement: an arena above the peak of the live bytes is made smaller than the budget asks for"},
    {kWarmStart, "warm-start", "search: begins with the plan that was given, where that is better than its own start"},
}};

}  // namespace

const std::array<SwitchInfo, static_cast<size_t>(Switch::kCount)>& all_switches() {
  return kSwitches;
}

std::optional<Switch> switch_named(std::string_view name) {
  for (const SwitchInfo& each : kSwitches)
    if (each.name == name) return each.rule;
  return std::nullopt;
}

}  // namespace pantoum::plan
