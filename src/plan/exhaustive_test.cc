#include <gtest/gtest.h>

#include <cmath>

#include "check/random_case.h"
#include "check/random_graph.h"
#include "check/replay.h"
#include "plan/exhaustive_fixture.h"

namespace pantoum::plan {
namespace {

using plan_test::exhaustive_optimum;

#ifdef PANTOUM_SANITIZER
constexpr uint64_t kScale = 20;
#else
constexpr uint64_t kScale = 1;
#endif

constexpr double kRounding = 1e-9;

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

}  // namespace
}  // namespace pantoum::plan
