#include "plan/attempts/algorithm_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

double exhaustive(const CostGraph& graph, const Aim& aim) {
  double best = HUGE_VAL;
  std::vector<size_t> at(graph.ops.size(), 0);
  while (true) {
    double energy = 0, time = 0;
    bool allowed = true;
    for (size_t op = 0; op < at.size(); ++op) {
      const Choice& choice = graph.ops[op].choices[at[op]];
      allowed =
          allowed && (aim.question.freedoms.numerics || choice.numerics == graph.ops[op].choices.front().numerics);
      if (graph.ops[op].optional) continue;
      energy += choice.energy_j, time += choice.time_s;
    }
    const bool in_time = !aim.question.deadline || time <= *aim.question.deadline * (1 + 1e-9);
    if (allowed && in_time) best = std::min(best, aim.value(energy, time));
    size_t op = 0;
    while (op < at.size() && ++at[op] == graph.ops[op].choices.size()) at[op++] = 0;
    if (op == at.size()) return best;
  }
}

TEST(AlgorithmSearch, KeepsADeadlineAndBoundsWhatThatCosts) {
  int in_time = 0, dearer = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.most_ops = 6});
    Aim aim, soonest;
    aim.question.freedoms.numerics = soonest.question.freedoms.numerics = true;
    soonest.question.objective = Objective::kTime;
    const double slow = assign_algorithms(graph, aim).time_s, fast = assign_algorithms(graph, soonest).time_s;
    for (const double share : {0., .3, .9, 1.5}) {
      const double deadline = aim.question.deadline.emplace(fast + share * (slow - fast));
      const Assignment found = assign_algorithms(graph, aim);
      EXPECT_LE(found.time_s, deadline * (1 + 1e-6)) << seed;
      const double least = exhaustive(graph, aim);
      EXPECT_LE(found.value, least * (1 + 1e-9)) << seed;
      EXPECT_GE(found.energy_j, least * (1 - 1e-6)) << seed;
      in_time += std::isfinite(least) ? 1 : 0;
      dearer += found.energy_j > found.value * (1 + 1e-6) ? 1 : 0;
    }
  }
  EXPECT_GT(in_time, 200);
  EXPECT_GT(dearer, 5);
}

TEST(AlgorithmSearch, IsTheLeastOfSums) {
  int several = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.most_ops = 6});
    for (const bool numerics : {false, true}) {
      Aim aim;
      aim.question.freedoms.numerics = numerics;
      for (const auto objective : {Objective::kEnergy, Objective::kTime, Objective::kWeighted}) {
        aim.question.objective = objective;
        aim.question.weights = {0.3, 2};
        const Assignment found = assign_algorithms(graph, aim);
        EXPECT_NEAR(found.value, exhaustive(graph, aim), 1e-9 * std::abs(found.value)) << seed;
      }
    }
    several += std::any_of(graph.ops.begin(), graph.ops.end(), [](const auto& op) { return op.choices.size() > 1; });
  }
  EXPECT_GT(several, 30);
}

// Not always the least of other values, but never worse than any change of one or two ops.
TEST(AlgorithmSearch, HasNoBetterNeighbour) {
  const ObjectiveExpression power = ObjectiveExpression::parse("power", "").value();
  int exact = 0, all = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.most_ops = 6});
    Aim aim{{}, &power};
    const Assignment found = assign_algorithms(graph, aim);
    if (!std::isfinite(found.value)) continue;
    const double least = exhaustive(graph, aim);
    EXPECT_GE(found.value, least * (1 - 1e-9)) << seed;
    exact += found.value <= least * (1 + 1e-9) ? 1 : 0;
    ++all;
  }
  EXPECT_GT(all, 30);
  EXPECT_GE(exact, all * 9 / 10);
}

}  // namespace
}  // namespace pantoum::plan
