// A weighted sum of energy and time: what is claimed of it is proved of it.
#include "plan/planner.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "check/claims.h"
#include "problem/plan_json.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

constexpr Weights kWeights[] = {{1, 0}, {0, 1}, {0.6, 0.4}, {1e-6, 3}, {50, 1e-3}};

PlanOptions options_for(const CostGraph& graph, const Weights& weights) {
  PlanOptions options{.effort = 1, .threads = 1};
  options.question.objective = Objective::kWeighted;
  options.question.weights = weights;
  const auto all = unplanned(graph);
  if (all) options.question.budget = all->predicted.arena_bytes * 9 / 10;
  return options;
}

TEST(WeightedPlan, IsJudgedByEnergyAndTimeOfItsOwnGraph) {
  int planned = 0, bounded = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    for (const Weights& weights : kWeights) {
      const auto plan = make_plan(graph, options_for(graph, weights));
      if (!plan) continue;
      ++planned;
      const auto judged = check::judge(*plan);
      ASSERT_TRUE(judged) << seed << ": " << judged.error().message;
      EXPECT_EQ(plan->question.objective, Objective::kWeighted);
      EXPECT_FALSE(plan->bound.energy_j) << "a bound of the sum is none of the energy";
      ASSERT_TRUE(plan->bound.weighted);
      const double value = weights.joule * judged->found.energy_j + weights.second * judged->found.time_s;
      EXPECT_NEAR(value_of(*plan), value, 1e-9 * value);
      EXPECT_LE(*plan->bound.weighted, value * (1 + 1e-9));
      bounded += *plan->bound.weighted > 0 ? 1 : 0;
      // As a file.
      const auto read = problem::parse_plan(problem::to_json(*plan).dump(), "plan");
      ASSERT_TRUE(read) << read.error().message;
      EXPECT_EQ(read->question, plan->question);
      EXPECT_TRUE(check::judge(*read));
    }
  }
  EXPECT_GT(planned, 100);
  EXPECT_GT(bounded, 100);
}

TEST(WeightedPlan, NoOtherPlanOfTheTrialsIsBetterThanItsBound) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    const PlanOptions asked = options_for(graph, {0.6, 0.4});
    const auto plan = make_plan(graph, asked);
    if (!plan) continue;
    for (const Objective objective : {Objective::kEnergy, Objective::kTime, Objective::kEdp}) {
      PlanOptions other = asked;
      other.question.objective = objective;
      const auto rival = make_plan(graph, other);
      if (!rival) continue;
      EXPECT_GE(value_of(asked.question, rival->predicted), *plan->bound.weighted * (1 - 1e-9)) << seed;
    }
  }
}

TEST(WeightedPlan, ForgedClaimsAreRefused) {
  int forged = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    auto plan = make_plan(graph, options_for(graph, {0.6, 0.4}));
    if (!plan || value_of(*plan) == 0) continue;
    ++forged;
    const auto refused = [&](auto change) {
      Plan wrong = *plan;
      change(wrong);
      return !check::judge(wrong);
    };
    EXPECT_TRUE(refused([](Plan& p) { p.bound.weighted = value_of(p) * 1.001; })) << seed;
    EXPECT_TRUE(refused([](Plan& p) { p.predicted.energy_j *= 1.01, p.predicted.energy_j += 1e-3; })) << seed;
    EXPECT_TRUE(refused([](Plan& p) { p.bound.energy_j = 0; })) << seed;
    EXPECT_TRUE(refused([](Plan& p) { p.question.energy_limit = 1e9; })) << seed;
    if (plan->gap > 1e-3) {
      EXPECT_TRUE(refused([](Plan& p) { p.gap = 0, p.status = Status::kOptimal; })) << seed;
    }
  }
  EXPECT_GT(forged, 10);
}

TEST(WeightedPlan, RefusesALimitOnTheEnergy) {
  PlanOptions options = options_for(check::random_cost_graph(1), {0.6, 0.4});
  options.question.energy_limit = 1;
  const auto plan = make_plan(check::random_cost_graph(1), options);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, "E0117");
}

}  // namespace
}  // namespace pantoum::plan
