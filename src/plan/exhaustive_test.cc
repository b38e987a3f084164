// The planner against exhaustive search: no bound above the optimum, no proof of infeasibility that is wrong, and what
// is called optimal is.
#include <gtest/gtest.h>

#include <cmath>

#include "check/random_case.h"
#include "check/random_graph.h"
#include "check/replay.h"
#include "plan/exhaustive_fixture.h"
#include "plan/planner.h"

namespace pantoum::plan {
namespace {

using plan_test::exhaustive_optimum;
using plan_test::ExhaustiveOptions;

#ifdef PANTOUM_SANITIZER
constexpr uint64_t kScale = 20;
#else
constexpr uint64_t kScale = 1;
#endif

constexpr double kRounding = 1e-9;

CostGraph small_graph(uint64_t seed) {
  return check::random_cost_graph(
      seed, {.least_ops = 2, .most_ops = 4, .most_sources = 3, .several_numerics = seed % 4 == 0});
}

// No deadline: does the search know what a plan costs, and not only a lower bound of it?
bool exact(const CostGraph& graph, Objective objective = Objective::kEnergy) {
  if (graph.device.pager.mode != cost::PagerMode::kAsync) return true;
  return objective == Objective::kEnergy && graph.device.idle_w == 0;
}

// Three budgets from about the least with which any plan is possible to where nothing need be given up.
std::vector<Bytes> budgets_of(const CostGraph& graph) {
  const auto whole = unplanned(graph, {.reorder = false});
  if (!whole) return {};
  const Bytes most = whole->predicted.arena_bytes;
  Bytes none = 0, some = most;
  while (some - none > most / 64 + 1) {
    const Bytes middle = none + (some - none) / 2;
    const auto optimum = exhaustive_optimum(graph, middle);
    (optimum && std::isinf(*optimum) ? none : some) = middle;
  }
  return {some, some + (most - some) / 4, some + (most - some) * 3 / 5};
}

std::string told(uint64_t seed, const PlanOptions& options) {
  return "seed " + std::to_string(seed) + ", " + std::to_string(options.ram) + " bytes";
}

double value_of(const Plan& plan) {
  return plan.objective == Objective::kEnergy ? plan.predicted.energy_j : plan.predicted.time_s;
}
std::optional<double> bound_of(const Plan& plan) {
  return plan.objective == Objective::kEnergy ? plan.bound.energy_j : plan.bound.time_s;
}

struct Tally {
  int asked = 0, planned = 0, missed = 0, known = 0, equal = 0, optimal = 0;  // missed: E0302 where a plan may exist
};

// One question, asked of the planner and of the search.
std::optional<Plan> hold_against_search(const CostGraph& graph, PlanOptions options, Tally& tally) {
  ExhaustiveOptions rules{.paging = options.paging,
                          .remat = options.remat,
                          .in_place = options.in_place,
                          .objective = options.objective,
                          .deadline = options.deadline};
  const std::optional<double> optimum = exhaustive_optimum(graph, options.ram, rules);
  if (!optimum) return std::nullopt;
  ++tally.asked;
  Infeasible why;
  Result<Plan> plan = make_plan(graph, options, &why);
  if (!plan) {
    if (plan.error().code == "E0301") {
      EXPECT_TRUE(std::isinf(*optimum)) << to_text(plan.error());
      EXPECT_LT(options.ram, why.min_ram_bound_bytes);
    } else {
      EXPECT_EQ(plan.error().code, "E0302") << to_text(plan.error());
      tally.missed += std::isinf(*optimum) ? 0 : 1;
    }
    return std::nullopt;
  }
  ++tally.planned;
  const auto found = check::replay(graph, *plan, {.ram_bytes = options.ram, .deadline_s = options.deadline});
  EXPECT_TRUE(found) << to_text(found.error());
  EXPECT_GE(value_of(*plan), *optimum * (1 - kRounding)) << "the search misses plans";
  if (const auto bound = bound_of(*plan)) {
    EXPECT_LE(*bound, *optimum * (1 + kRounding)) << "not a bound";
  }
  if (plan->status == Status::kOptimal && exact(graph, options.objective)) {
    EXPECT_LE(value_of(*plan) * (1 - options.gap), *optimum * (1 + kRounding)) << "not optimal";
  }
  tally.optimal += plan->status == Status::kOptimal ? 1 : 0;
  if (exact(graph, options.objective)) {
    ++tally.known;
    tally.equal += value_of(*plan) <= *optimum * (1 + 1e-6) ? 1 : 0;
  }
  return std::move(*plan);
}

// A plan that says nothing of itself, and has all the RAM that it wants.
Result<check::Found> replayed(const CostGraph& graph, Plan plan) {
  plan.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  return check::replay(graph, plan, {.ram_bytes = Bytes{1} << 40});
}

TEST(ExhaustiveOptimum, IsNeverAboveARandomPlan) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 6000 / kScale; ++seed) {
    const CostGraph graph =
        check::random_cost_graph(seed, {.most_ops = 4, .most_sources = 3, .several_numerics = false});
    const auto found = replayed(graph, check::random_plan(graph, seed));
    if (!found || !found->keeps_order) continue;
    for (const Objective objective : {Objective::kEnergy, Objective::kTime}) {
      const auto optimum = exhaustive_optimum(graph, found->arena_bytes, {.objective = objective});
      if (!optimum) continue;
      ++compared;
      const double value = objective == Objective::kEnergy ? found->energy_j : found->time_s;
      EXPECT_LE(*optimum, value * (1 + kRounding)) << "seed " << seed;
    }
  }
  EXPECT_GT(compared, static_cast<int>(3000 / kScale));
}

TEST(MakePlan, AgreesWithExhaustiveSearchOnEnergy) {
  Tally tally;
  for (uint64_t seed = 1; seed <= 2000 / kScale; ++seed) {
    const CostGraph graph = small_graph(seed);
    for (const Bytes ram : budgets_of(graph)) {
      const PlanOptions options{.ram = ram, .reorder = false, .effort = 1, .threads = 1};
      SCOPED_TRACE(told(seed, options));
      (void)hold_against_search(graph, options, tally);
    }
  }
  EXPECT_GT(tally.planned, tally.asked / 2);
  EXPECT_LT(tally.missed, tally.asked / 4);
  EXPECT_GT(tally.equal, tally.known * 2 / 3);
}

}  // namespace
}  // namespace pantoum::plan
