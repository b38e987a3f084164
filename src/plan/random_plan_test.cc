// The planner and the exhaustive search against all sorts of valid plans: none is better than what is called the least.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "check/replay.h"
#include "plan/planner.h"
#include "testing/exhaustive_plans.h"
#include "testing/exhaustive_questions.h"
#include "testing/random_case.h"
#include "testing/random_graph.h"

namespace pantoum::plan {

using plan_test::exhaustive_optimum;
namespace {

// A plan that says nothing of itself, and has all the RAM that it wants.
Result<check::Found> replayed(const CostGraph& graph, Plan plan) {
  plan.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  return check::replay(graph, plan, {.budget = Bytes{1} << 40});
}

TEST(ExhaustiveOptimum, IsNeverAboveARandomPlan) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 6000 / kScale; ++seed) {
    const CostGraph graph =
        check::random_cost_graph(seed, {.most_ops = 4, .most_sources = 3, .several_numerics = false});
    const auto found = replayed(graph, check::random_plan(graph, seed));
    if (!found || !found->keeps_order) continue;
    for (const Objective objective : {Objective::kEnergy, Objective::kTime}) {
      const auto optimum = exhaustive_optimum(graph, question_for(found->arena_bytes, objective));
      if (!optimum) continue;
      ++compared;
      const double value = objective == Objective::kEnergy ? found->energy_j : found->time_s;
      EXPECT_LE(*optimum, value * (1 + kRounding)) << "seed " << seed;
    }
  }
  EXPECT_GT(compared, static_cast<int>(3000 / kScale));
}

// Where transfers run beside computes no search is exact: bounds are held against all sorts of valid plans.
TEST(RandomPlans, BoundsAreNotAboveRandomPlans) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= 1000 / kScale; ++seed) {
    const CostGraph graph =
        check::random_cost_graph(seed, {.most_ops = 6, .most_sources = 3, .several_numerics = false});
    if (exact(graph, Objective::kTime)) continue;
    std::vector<check::Found> plans;
    for (uint64_t attempt = 0; attempt < 25; ++attempt) {
      const auto found = replayed(graph, check::random_plan(graph, seed * 1000 + attempt));
      if (found && found->keeps_order) plans.push_back(*found);
    }
    if (plans.empty()) continue;
    std::sort(plans.begin(), plans.end(), [](const auto& a, const auto& b) { return a.arena_bytes < b.arena_bytes; });
    for (const bool hurry : {false, true}) {
      PlanOptions options = options_for(plans[plans.size() / 2].arena_bytes);
      if (hurry) options.question.deadline = plans[plans.size() / 2].time_s;
      SCOPED_TRACE(told(seed, options) + (hurry ? ", in a hurry" : ""));
      Infeasible why;
      const Result<Plan> plan = make_plan(graph, options, &why);
      if (!plan) {
        EXPECT_NE(plan.error().code, "E0301") << to_text(plan.error());
        continue;
      }
      options.effort = 4;
      const Result<Plan> other = make_plan(graph, options);
      if (other) {
        EXPECT_LE(bound_of(*plan).value_or(0), value_of(*other) * (1 + kRounding));
      }
      for (const check::Found& random : plans) {
        if (random.arena_bytes > options.question.budget_bytes() ||
            random.time_s > options.question.deadline.value_or(random.time_s))
          continue;
        ++compared;
        EXPECT_LE(plan->bound.energy_j.value_or(0), random.energy_j * (1 + kRounding));
        EXPECT_LE(plan->bound.time_s.value_or(0), random.time_s * (1 + kRounding));
      }
    }
  }
  EXPECT_GT(compared, static_cast<int>(2000 / kScale));
}

}  // namespace
}  // namespace pantoum::plan
