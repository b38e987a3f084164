#include "plan/bound/edp_bound.h"

#include <gtest/gtest.h>

#include <cmath>

#include "check/certificate.h"
#include "plan/planner.h"
#include "testing/chain_graphs.h"

namespace pantoum::plan {
namespace {

//  energy
//   6 |\.
//   5 | \.     plans        A hyperplane of 2 J per second, an energy of at least 2 J, a makespan of at least 1 s:
//     |  \.                 the corners are (1 s, 6 J), of 6 Js, and (3 s, 2 J), also of 6 Js.
//   2 |   \_________
//     +-1---3------- time
TEST(LeastCorner, LiesWhereHyperplanesMeet) {
  const std::vector<Hyperplane> planes{{.price = 0, .least = 2}, {.price = 2, .least = 8}};
  EXPECT_DOUBLE_EQ(least_corner(planes, 1).product(), 6);
  EXPECT_DOUBLE_EQ(least_corner(planes, 1.5).product(), 6);
  EXPECT_DOUBLE_EQ(least_corner(planes, 0.5).product(), 3.5);
  EXPECT_DOUBLE_EQ(least_corner(planes, 4).product(), 8);
}

TEST(LeastCorner, IsTheProductOfTheLeastWithoutAPrice) {
  EXPECT_DOUBLE_EQ(least_corner({{.price = 0, .least = 2}, {.price = 0, .least = 3}}, 5).product(), 15);
  EXPECT_DOUBLE_EQ(least_corner({}, 5).product(), 0);
}

TEST(EdpBound, CountsWhatItsSeparatorsDo) {
  const CostGraph graph = plan_test::chain(20);
  const Bytes budget = unplanned(graph).value().predicted.peak_bytes / 2;
  const PlanOptions options{.question = {.budget = budget, .objective = Objective::kEdp}, .effort = 30};
  const Plan plan = make_plan(graph, options).value();
  ASSERT_FALSE(plan.separators.empty());
  EXPECT_GT(plan.separators.front().kept, 0);
  EXPECT_EQ(plan.separators.front().seconds, 0) << "an effort stands for the clock";
  EXPECT_LE(plan.bound.edp_js.value(), value_of(plan) * (1 + 1e-9));
}

}  // namespace
}  // namespace pantoum::plan
