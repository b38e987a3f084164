#include "plan/simulate/time_limit.h"

#include <array>

namespace pantoum::plan {
namespace {

using enum Attempt;
using enum ShareOf;

// clang-format off
constexpr std::array<AttemptRow, static_cast<size_t>(kCount)> kAttempts{{
    //  attempt, name
    //      needs
    //      may use of other attempts
    //      share
    //      reason

    // ---- before the first question ----
    {kMeasureMachine, "measure the machine",
        "the programs' graphs",
        "times in the profile store",
        0.1, kLimit,
        "plans by wrong times are wrong plans; after a tenth of the limit the heaviest kernels are known"},
    {kMeasureOverLongLimit, "measure the machine within a limit of more than a minute",
        "the programs' graphs",
        "times in the profile store",
        0.075, kLimit,
        "the number of kernels does not grow with the limit"},
    {kMeasureStorage, "measure the storage",
        "the folder of the page file",
        "figures in the profile store",
        0.5, kRest,
        "of what measuring has: a slow storage must leave time for the kernels"},
    {kFindGraphs, "find equivalent graphs of the step",
        "costs of the first graph, the substitutions",
        "the graph of the plan to start from",
        0.05, kLimit,
        "the cheapest graphs come first, and the planner must have time for them"},

    // ---- questions about the whole step ----
    {kSumWithEngine, "plan the sum of the step's time and of what transfers take from the engine",
        "measured storage, the objective time",
        "nothing",
        0.75, kRest,
        "its plan is mostly the answer; the rest plans the question that was asked, from that plan"},
    {kHeldBackTransfers, "plan with transfers held back",
        "measured storage, another objective than time, no deadline",
        "nothing",
        0.75, kRest,
        "its plan is mostly the answer; the rest plans again where the step waits for its storage"},
    {kChooseGraph, "choose a graph by short plans",
        "several graphs, a clock",
        "nothing",
        0.5, kLimit,
        "the other half plans the graph that was chosen"},
    {kTryGraph, "a short plan of one graph",
        "a clock",
        "plans of the other programs",
        0.08, kLimit,
        "at least six graphs can be tried while one is chosen"},
    {kFirstChoices, "plan with the first choice of each op alone",
        "ops with several choices, a clock",
        "the graph that was chosen",
        0.35, kLimit,
        "among far fewer plans a good one is found sooner; the rest searches among all choices, from that plan"},
    {kFirstGraph, "plan the first graph where no short plans chose one",
        "several graphs",
        "nothing",
        0.6, kRest,
        "it is the most likely one; the other graphs share the rest equally"},
    {kOtherProgramsFirst, "any plan of the other programs",
        "several programs",
        "their plans of other costs",
        0.04, kLimit,
        "training then leaves its state where these fit; any plan of theirs will do"},
    {kTraining, "plan the training step's program",
        "several programs",
        "what the other programs hold in RAM",
        0.8, kRest,
        "where its state leaves no room for the others, there must be time for another attempt"},
    {kOtherProgram, "plan one of the other programs",
        "offsets of the state in training's plan",
        "nothing",
        0.5, kRest,
        "the programs after it must have time, and another attempt where it does not fit"},

    // ---- orders and refusals ----
    {kTryOrder, "a short plan in one order of first computations",
        "several orders",
        "nothing",
        0.08, kLimit,
        "three orders at most; the order that is chosen is planned with the rest"},
    {kTryOrders, "short plans in all orders",
        "several orders",
        "the best short plan",
        0.3, kLimit,
        "a plan that was found by then is enough to choose by"},
    {kLeastOfLimit, "the least RAM, time or energy, where there is no plan",
        "a question without an answer",
        "the first bounds",
        0.3, kRest,
        "up to three of these are asked one after the other"},

    // ---- within one question ----
    {kStartByEnergy, "a start of least energy, where time counts",
        "an objective with time in it, transfers beside compute",
        "nothing",
        0.2, kLimit,
        "without a clock to simulate it is quick, and with page-ins moved ahead often the better start"},
    {kUntilAnyPlan, "anneal as long as no policy fits",
        "a start",
        "nothing",
        0.75, kLimit,
        "placing and a refusal need the rest"},
    {kSearchWithTransfers, "the first annealing, where offsets can cost time",
        "a start",
        "policies near the relaxation's solution",
        0.6, kLimit,
        "later attempts leave more RAM or time to the offsets, from where this one ends"},
    {kSearchByEnergy, "the first annealing, where offsets cost no time",
        "a start",
        "policies near the relaxation's solution",
        0.5, kLimit,
        "offsets may still need less RAM, which is another attempt"},
    {kSearchInRam, "the first annealing, where nothing moves to storage",
        "a start",
        "policies near the relaxation's solution",
        0.25, kLimit,
        "offsets cost RAM here, and several reserves have to be tried"},
    {kSearchInRamAgain, "a further annealing, where nothing moves to storage",
        "the policy of the last one, what its offsets lacked",
        "policies near the relaxation's solution",
        0.08, kLimit,
        "each goes on where the last ended"},
    {kSearchesInRam, "all annealings, where nothing moves to storage",
        "a start",
        "nothing",
        0.75, kLimit,
        "the rest anneals among plans that have offsets"},
    {kSearchAgain, "a further annealing with more room for offsets",
        "the policy of the last one, what its offsets lacked",
        "policies near the relaxation's solution",
        0.06, kLimit,
        "it goes on where the last ended; twice as long as long as no policy had offsets"},
    {kAnnealingRound, "a round of the annealings",
        "a policy",
        "the best policy of all",
        0.1, kLimit,
        "annealings learn from each other between rounds; one that the clock cuts off does not cool down"},
    {kSettleTies, "the best of plans of the same value",
        "a plan",
        "its policy",
        0.05, kTaken,
        "the other figure is worth little where the objective is the same"},

    // ---- offsets ----
    {kPlacing, "find offsets",
        "a policy",
        "nothing",
        0.06, kLimit,
        "search and proof stop so much earlier, so that the last policy can be placed"},
    {kPlacingPatiently, "offsets that take no bytes before their write has ended",
        "transfers beside compute",
        "nothing",
        0.1, kPlacement,
        "four budgets are tried before offsets that make the step wait"},
    {kPlacingAgain, "offsets of a further policy, where a plan is there",
        "a policy",
        "nothing",
        0.3, kPlacement,
        "a policy that has no offsets soon costs less as another policy"},
    {kPlacingFirst, "offsets of the first policy that fits",
        "a policy",
        "nothing",
        0.05, kPlacement,
        "any plan will do, and further policies follow"},

    // ---- the bound ----
    {kProveAnyOrder, "a bound of every order, once the planned order's is proved",
        "a proof of the planned order",
        "nothing",
        0.1, kTaken,
        "the plan is proved already; this makes the proof hold for more plans"},
    {kBranchOnOneSet, "branch on boundaries that were left undone",
        "relaxations",
        "their boundaries",
        0.34, kRest,
        "each set gets a third of the rest, and all boundaries together what remains"},
    {kFullestChain, "the least RAM along the op that holds the most bytes",
        "a refusal of any order",
        "nothing",
        0.5, kRest,
        "one of two chains of ops; the other half is for the chain that presses most"},
}};
// clang-format on

constexpr bool stand_in_order() {
  for (size_t row = 0; row < kAttempts.size(); ++row)
    if (static_cast<size_t>(kAttempts[row].attempt) != row) return false;
  return true;
}
static_assert(stand_in_order());

}  // namespace

std::span<const AttemptRow> attempts() {
  return kAttempts;
}

double share_of(Attempt attempt) {
  return kAttempts[static_cast<size_t>(attempt)].share;
}

Seconds TimeLimit::for_attempt(Attempt attempt) const {
  const AttemptRow& row = kAttempts[static_cast<size_t>(attempt)];
  return row.share * (row.of == ShareOf::kRest ? rest() : limit_);
}

}  // namespace pantoum::plan
