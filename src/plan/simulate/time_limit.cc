#include "plan/simulate/time_limit.h"

#include <array>

namespace pantoum::plan {
namespace {

enum class ShareOf : uint8_t {
  kLimit,     // the whole limit
  kRest,      // what is left of it
  kTaken,     // the time taken so far, in addition to it
  kPlacement  // what one placement may take
};

struct AttemptRow {
  Attempt attempt;
  double share;
  ShareOf of;
};

using enum Attempt;
using enum ShareOf;

// clang-format off
constexpr std::array<AttemptRow, static_cast<size_t>(kAttemptCount)> kAttempts{{
    // what the attempt does
    //     needs     what it must have
    //     may use   what it can take from other attempts
    //     share     why it gets its share
    // {attempt, share, of what}

    // ---- before the first question ----
    // measure the machine
    //     needs     the programs' graphs
    //     may use   times in the profile store
    //     share     plans by wrong times are wrong plans; after a tenth of the limit the heaviest kernels are known
    {kMeasureMachine, 0.1, kLimit},
    // measure the machine within a limit of more than a minute
    //     needs     the programs' graphs
    //     may use   times in the profile store
    //     share     the number of kernels does not grow with the limit
    {kMeasureOverLongLimit, 0.075, kLimit},
    // measure the storage
    //     needs     the folder of the page file
    //     may use   figures in the profile store
    //     share     of what measuring has: a slow storage must leave time for the kernels
    {kMeasureStorage, 0.5, kRest},
    // find equivalent graphs of the step
    //     needs     costs of the first graph, the substitutions
    //     may use   the graph of the plan to start from
    //     share     the cheapest graphs come first, and the planner must have time for them
    {kFindGraphs, 0.05, kLimit},

    // ---- questions about the whole step ----
    // plan the sum of the step's time and of what transfers take from the engine
    //     needs     measured storage, the objective time
    //     may use   nothing
    //     share     its plan is mostly the answer; the rest plans the question that was asked, from that plan
    {kSumWithEngine, 0.75, kRest},
    // plan with transfers held back
    //     needs     measured storage, another objective than time, no deadline
    //     may use   nothing
    //     share     its plan is mostly the answer; the rest plans again where the step waits for its storage
    {kHeldBackTransfers, 0.75, kRest},
    // choose a graph by short plans
    //     needs     several graphs, a clock
    //     may use   nothing
    //     share     the other half plans the graph that was chosen
    {kChooseGraph, 0.5, kLimit},
    // a short plan of one graph
    //     needs     a clock
    //     may use   plans of the other programs
    //     share     at least six graphs can be tried while one is chosen
    {kTryGraph, 0.08, kLimit},
    // plan with the first choice of each op alone
    //     needs     ops with several choices, a clock
    //     may use   the graph that was chosen
    //     share     among far fewer plans a good one is found sooner; the rest searches among all choices, from that plan
    {kFirstChoices, 0.35, kLimit},
    // plan the first graph where no short plans chose one
    //     needs     several graphs
    //     may use   nothing
    //     share     it is the most likely one; the other graphs share the rest equally
    {kFirstGraph, 0.6, kRest},
    // any plan of the other programs
    //     needs     several programs
    //     may use   their plans of other costs
    //     share     training then leaves its state where these fit; any plan of theirs will do
    {kOtherProgramsFirst, 0.04, kLimit},
    // plan the training step's program
    //     needs     several programs
    //     may use   what the other programs hold in RAM
    //     share     where its state leaves no room for the others, there must be time for another attempt
    {kTraining, 0.8, kRest},
    // plan one of the other programs
    //     needs     offsets of the state in training's plan
    //     may use   nothing
    //     share     the programs after it must have time, and another attempt where it does not fit
    {kOtherProgram, 0.5, kRest},

    // ---- orders and refusals ----
    // a short plan in one order of first computations
    //     needs     several orders
    //     may use   nothing
    //     share     three orders at most; the order that is chosen is planned with the rest
    {kTryOrder, 0.08, kLimit},
    // short plans in all orders
    //     needs     several orders
    //     may use   the best short plan
    //     share     a plan that was found by then is enough to choose by
    {kTryOrders, 0.3, kLimit},
    // the least RAM, time or energy, where there is no plan
    //     needs     a question without an answer
    //     may use   the first bounds
    //     share     up to three of these are asked one after the other
    {kLeastOfLimit, 0.3, kRest},

    // ---- within one question ----
    // a start of least energy, where time counts
    //     needs     an objective with time in it, transfers beside compute
    //     may use   nothing
    //     share     without a clock to simulate it is quick, and with page-ins moved ahead often the better start
    {kStartByEnergy, 0.2, kLimit},
    // anneal as long as no policy fits
    //     needs     a start
    //     may use   nothing
    //     share     placing and a refusal need the rest
    {kUntilAnyPlan, 0.75, kLimit},
    // the first annealing, where offsets can cost time
    //     needs     a start
    //     may use   policies near the relaxation's solution
    //     share     later attempts leave more RAM or time to the offsets, from where this one ends
    {kSearchWithTransfers, 0.6, kLimit},
    // the first annealing, where offsets cost no time
    //     needs     a start
    //     may use   policies near the relaxation's solution
    //     share     offsets may still need less RAM, which is another attempt
    {kSearchByEnergy, 0.5, kLimit},
    // the first annealing, where nothing moves to storage
    //     needs     a start
    //     may use   policies near the relaxation's solution
    //     share     offsets cost RAM here, and several reserves have to be tried
    {kSearchInRam, 0.25, kLimit},
    // a further annealing, where nothing moves to storage
    //     needs     the policy of the last one, what its offsets lacked
    //     may use   policies near the relaxation's solution
    //     share     each goes on where the last ended
    {kSearchInRamAgain, 0.08, kLimit},
    // all annealings, where nothing moves to storage
    //     needs     a start
    //     may use   nothing
    //     share     the rest anneals among plans that have offsets
    {kSearchesInRam, 0.75, kLimit},
    // a further annealing with more room for offsets
    //     needs     the policy of the last one, what its offsets lacked
    //     may use   policies near the relaxation's solution
    //     share     it goes on where the last ended; twice as long as long as no policy had offsets
    {kSearchAgain, 0.06, kLimit},
    // a round of the annealings
    //     needs     a policy
    //     may use   the best policy of all
    //     share     annealings learn from each other between rounds; one that the clock cuts off does not cool down
    {kAnnealingRound, 0.1, kLimit},
    // the best of plans of the same value
    //     needs     a plan
    //     may use   its policy
    //     share     the other figure is worth little where the objective is the same
    {kSettleTies, 0.05, kTaken},

    // ---- offsets ----
    // find offsets
    //     needs     a policy
    //     may use   nothing
    //     share     search and proof stop so much earlier, so that the last policy can be placed
    {kPlacing, 0.06, kLimit},
    // offsets that take no bytes before their write has ended
    //     needs     transfers beside compute
    //     may use   nothing
    //     share     four budgets are tried before offsets that make the step wait
    {kPlacingPatiently, 0.1, kPlacement},
    // offsets of a further policy, where a plan is there
    //     needs     a policy
    //     may use   nothing
    //     share     a policy that has no offsets soon costs less as another policy
    {kPlacingAgain, 0.3, kPlacement},
    // offsets of the first policy that fits
    //     needs     a policy
    //     may use   nothing
    //     share     any plan will do, and further policies follow
    {kPlacingFirst, 0.05, kPlacement},

    // ---- the bound ----
    // a bound of every order, once the planned order's is proved
    //     needs     a proof of the planned order
    //     may use   nothing
    //     share     the plan is proved already; this makes the proof hold for more plans
    {kProveAnyOrder, 0.1, kTaken},
    // branch on boundaries that were left undone
    //     needs     relaxations
    //     may use   their boundaries
    //     share     each set gets a third of the rest, and all boundaries together what remains
    {kBranchOnOneSet, 0.34, kRest},
    // the least RAM along the op that holds the most bytes
    //     needs     a refusal of any order
    //     may use   nothing
    //     share     one of two chains of ops; the other half is for the chain that presses most
    {kFullestChain, 0.5, kRest},
}};
// clang-format on

constexpr bool stand_in_order() {
  for (size_t row = 0; row < kAttempts.size(); ++row)
    if (static_cast<size_t>(kAttempts[row].attempt) != row) return false;
  return true;
}
static_assert(stand_in_order());

}  // namespace

double share_of(Attempt attempt) {
  return kAttempts[static_cast<size_t>(attempt)].share;
}

Seconds TimeLimit::for_attempt(Attempt attempt) const {
  const AttemptRow& row = kAttempts[static_cast<size_t>(attempt)];
  return row.share * (row.of == ShareOf::kRest ? rest() : limit_);
}

}  // namespace pantoum::plan
