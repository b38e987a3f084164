#include "plan/bound/lp_bound.h"

#include <gtest/gtest.h>

#include <cmath>

#include "check/certificate.h"
#include "check/replay.h"
#include "plan/bound/boundaries.h"
#include "plan/bound/relaxation.h"
#include "plan/planner.h"
#include "plan/simulate/order.h"
#include "testing/chain_graphs.h"
#include "testing/random_case.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

using plan_test::chain;

#ifdef PANTOUM_SANITIZER
constexpr uint64_t kSeeds = 30;
#else
constexpr uint64_t kSeeds = 300;
#endif
constexpr int64_t kIterations = 2000;

struct Bounds {
  LpBound simplex, first_order;
};

Bounds bounds_of(const CostGraph& graph, const PlanOptions& options, std::optional<Seconds> most_seconds) {
  const Model model = make_model(graph, options);
  const Relaxation relaxation(model, {.question = options.question, .most_seconds = most_seconds},
                              choose_boundaries(model, options.question.budget_bytes(), 100));
  const LpLimits limits{.iterations = kIterations, .target = [] { return HUGE_VAL; }, .raised = [](double) {}};
  return {lp_bound(relaxation, options, limits), primal_dual_bound(relaxation, options, limits)};
}

// A bound of the question that a random plan answers is below that plan, and what its certificate proves.
TEST(PrimalDualBound, IsProvedAndNeverAboveAPlan) {
  int compared = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    check::Random random(seed);
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 2, .most_ops = 14});
    Plan plan = check::random_plan(graph, seed + 77);
    plan.question.budget = Bytes{1} << 50;
    plan.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
    const auto found = check::replay(graph, plan);
    if (!found || !found->keeps_order) continue;
    PlanOptions options{.question = {.budget = std::max<Bytes>(1, found->arena_bytes),
                                     .freedoms = {.reordering = false, .numerics = true}}};
    if (random.chance(0.3)) options.question.objective = Objective::kTime;
    if (random.chance(0.5)) options.question.deadline = found->time_s;
    const Bounds bounds =
        bounds_of(graph, options, random.chance(0.5) ? std::optional(found->time_s * 2) : std::nullopt);
    const double value = options.question.objective == Objective::kTime ? found->time_s : found->energy_j;
    ASSERT_TRUE(bounds.first_order.certificate || bounds.first_order.bound <= 0);
    EXPECT_LE(bounds.first_order.bound, value * (1 + 1e-9));
    if (!bounds.first_order.certificate) continue;
    const auto bound = check::check_certificate(graph, *bounds.first_order.certificate);
    ASSERT_TRUE(bound) << to_text(bound.error());
    EXPECT_LE(*bound, value * (1 + 1e-9));
    ++compared;
  }
  EXPECT_GT(compared, static_cast<int>(kSeeds) / 4);
}

TEST(PrimalDualBound, ReachesWhatTheSimplexDoes) {
  for (const int64_t length : {10, 25}) {
    const CostGraph graph = chain(length);
    const Bytes peak = unplanned(graph).value().predicted.peak_bytes;
    for (const int percent : {40, 60, 80}) {
      SCOPED_TRACE(testing::Message() << length << " ops at " << percent << "%");
      const PlanOptions options{.question = {.budget = peak * percent / 100}};
      const Bounds bounds = bounds_of(graph, options, {});
      ASSERT_TRUE(bounds.first_order.certificate);
      EXPECT_GE(bounds.first_order.bound, bounds.simplex.bound * (1 - 2e-3));
      const auto bound = check::check_certificate(graph, *bounds.first_order.certificate);
      ASSERT_TRUE(bound) << to_text(bound.error());
      EXPECT_NEAR(*bound, bounds.first_order.bound, 1e-9 * *bound);
    }
  }
}

TEST(PrimalDualBound, IsTheSameEveryTime) {
  const CostGraph graph = chain(20);
  const PlanOptions options{.question = {.budget = unplanned(graph).value().predicted.peak_bytes / 2}};
  const Bounds once = bounds_of(graph, options, {}), again = bounds_of(graph, options, {});
  EXPECT_EQ(once.first_order.bound, again.first_order.bound);
  EXPECT_EQ(once.first_order.iterations, again.first_order.iterations);
}

}  // namespace
}  // namespace pantoum::plan
