#include "plan/simulate/switches.h"

namespace pantoum::plan {
namespace {

constexpr std::array<SwitchInfo, static_cast<size_t>(Switch::kCount)> kSwitches{{
    {Switch::kPathCuts, "path-cuts",
     "bound: a tensor that is needed was in RAM, in storage or recomputed since an earlier segment"},
    {Switch::kStoredOnce, "stored-once",
     "bound: in a path cut, what is read from storage was written there, and once is enough"},
    {Switch::kPathStep, "path-step",
     "bound: of the path cuts for one need, only those with a violation larger by a step"},
    {Switch::kBoundaryCuts, "boundary-cuts", "bound: the memory rows of the boundaries are rounded and covered"},
    {Switch::kRecomputeCuts, "recompute-cuts", "bound: working sets of recomputations, beside what is retained"},
    {Switch::kRetainedReads, "retained-reads",
     "bound: an input of the boundary's op that was not brought back was retained"},
    {Switch::kRounding, "rounding", "bound: Chvatal-Gomory rounding of knapsacks"},
    {Switch::kCovers, "covers", "bound: minimal covers of knapsacks"},
    {Switch::kCoverExtension, "cover-extension",
     "bound: covers are extended by items at least as heavy as their heaviest"},
    {Switch::kFlowCuts, "flow-cuts", "bound: the transfers of an asynchronous pager take their bytes and their time"},
    {Switch::kInOut, "in-out",
     "bound: cuts are sought halfway between the solution and a running mean (in-out separation)"},
    {Switch::kForgetSlack, "forget-slack", "bound: cuts that were slack for some rounds are dropped"},
    {Switch::kTail, "tail", "bound: rounds of cuts that raise the bound little end it"},
    {Switch::kBoundaryRefinement, "boundary-refinement", "bound: few boundaries first, then twice as many"},
    {Switch::kRoomBoundaries, "room-boundaries",
     "bound: boundaries also where the budget leaves least beside the op's working set"},
    {Switch::kOverfullBoundaries, "overfull-boundaries",
     "bound: where nothing is transferred, boundaries also where the last solution holds more than the budget"},
    {Switch::kLastUses, "last-uses", "bound: no columns for a tensor after its last use"},
    {Switch::kPinnedRoom, "pinned-room", "bound: pinned tensors take their bytes beside every op"},
    {Switch::kTimeCap, "time-cap", "bound: plans so slow that they cost more than the best so far are excluded"},
    {Switch::kBranching, "branching", "bound: branch and bound closes what the cuts leave"},
    {Switch::kFirstOrder, "first-order",
     "bound: a first-order method solves large relaxations in place of the simplex"},
    {Switch::kStagePrice, "stage-price",
     "bound: a fractional knapsack at the stage with the most bytes over the budget"},
    {Switch::kIncremental, "incremental", "search: only the stages that a change can reach are simulated"},
    {Switch::kPressedIntervals, "pressed-intervals",
     "search: intervals that cross no stage over the budget are drawn seldom"},
    {Switch::kWantedIntervals, "wanted-intervals",
     "search: no interval after the last use of a tensor that no recomputation reads"},
    {Switch::kThresholds, "thresholds",
     "search: a tensor is evicted later than at once, and retained again once recomputed"},
    {Switch::kPairs, "pairs", "search: two intervals are redrawn at once"},
    {Switch::kSwap, "swap", "search: one interval is retained in exchange for another that is evicted"},
    {Switch::kShift, "shift", "search: one threshold is moved"},
    {Switch::kPageAhead, "page-ahead", "search: a page-in is issued ahead of its use, where time counts"},
    {Switch::kEagerRecomputation, "eager-recomputation",
     "search: a tensor is recomputed ahead of its use, while an input of its op is there anyway"},
    {Switch::kLean, "lean", "search: an interval is dropped, and the inputs of its recomputation are retained"},
    {Switch::kExchange, "exchange", "search: a large change, after which the intervals around it are improved again"},
    {Switch::kIsomorphicParts, "isomorphic-parts",
     "search: a policy that is good for one part is tried for isomorphic parts"},
    {Switch::kSharing, "sharing", "search: annealings that fell behind continue from the best plan of all"},
    {Switch::kRestarts, "restarts", "search: while nothing improves, some annealings restart"},
    {Switch::kOwnMeans, "own-means",
     "search: every second annealing starts with paging alone or rematerialization alone"},
    {Switch::kGuides, "guides", "search: parts of what such an annealing found are tried by its neighbour"},
    {Switch::kLpRounding, "lp-rounding",
     "search: an annealing starts near the relaxation's solution once there is one"},
    {Switch::kChoices, "choices", "search: the choices of ops change together with the policy"},
    {Switch::kReadBack, "read-back", "search: a dropped tensor is read from storage where that is cheaper"},
    {Switch::kLeanChoices, "lean-choices", "search: choices with less workspace, where no policy fits"},
    {Switch::kLeanReads, "lean-reads", "search: a start from the choices that read the fewest bytes"},
    {Switch::kPrefetch, "prefetch", "search: page-ins are issued ahead of their uses"},
    {Switch::kLeastTime, "least-time", "search: a neighbour that is too expensive even at its least time is not timed"},
    {Switch::kEarlier, "earlier", "search: where offsets cost the deadline, the search runs again with an earlier one"},
    {Switch::kRoomier, "roomier", "search: where offsets cost time, the search runs again with a smaller budget"},
    {Switch::kReserveByStage, "reserve",
     "search: bytes that offsets lacked at some stages are kept in reserve there, in place of a smaller budget"},
    {Switch::kPlacedAnnealing, "placed-annealing",
     "search: a plan without transfers is improved by neighbours that have offsets near its own"},
    {Switch::kWriteCompletion, "write-completion",
     "placement: bytes are not taken before their write completion while others are free"},
    {Switch::kSmallArena, "small-arena",
     "placement: an arena above the peak of the live bytes is made smaller than the budget asks for"},
    {Switch::kWarmStart, "warm-start",
     "search: begins with the plan that was given, where that is better than its own start"},
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
