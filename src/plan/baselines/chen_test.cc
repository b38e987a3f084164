#include "plan/baselines/chen.h"

#include <gtest/gtest.h>

#include "check/replay.h"
#include "plan/baselines/methods.h"
#include "plan/baselines/task.h"
#include "testing/sample_graphs.h"

namespace pantoum::plan::baseline {
namespace {

TEST(ForwardBackwardBoundary, IsBehindTheLoss) {
  const CostGraph chain = sample_chain(6);
  const PlanOptions options{.question = {.budget = 1 << 20}};
  EXPECT_EQ(find_forward_backward_boundary(ask(chain, options, "test").value()), 7);  // six layers and the loss
}

TEST(ArticulationPoints, AreWhatEveryPathCrosses) {
  const CostGraph graph = sample_residual(2);  // in | conv add | conv add
  const PlanOptions options{.question = {.budget = 1 << 20}};
  EXPECT_EQ(articulation_points(ask(graph, options, "test").value(), 5),
            (std::vector<OpIndex>{OpIndex(0), OpIndex(2), OpIndex(4)}));
}

TEST(ChenSqrt, ComputesNoOpMoreThanTwice) {
  const CostGraph graph = sample_chain(16);
  const auto plan = chen_sqrt(graph, {.question = {.budget = 1 << 20}});
  ASSERT_TRUE(plan) << to_text(plan.error());
  const auto found = check::replay(graph, *plan);
  ASSERT_TRUE(found) << to_text(found.error());
  EXPECT_GT(found->counts.recompute, 8);
  EXPECT_LE(found->counts.recompute, 16);
}

}  // namespace
}  // namespace pantoum::plan::baseline
