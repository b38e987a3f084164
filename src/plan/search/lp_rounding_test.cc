
#include <gtest/gtest.h>

#include "plan/bound/boundaries.h"
#include "plan/bound/relaxation.h"
#include "plan/search/search.h"
#include "plan/simulate/plan_options.h"
#include "plan/simulate/simulate.h"
#include "testing/random_graph.h"

namespace pantoum::plan {
namespace {

// A solution in which everything is in RAM rounds to a policy that retains everything; one in which nothing is, to one
// that evicts in every interval.
TEST(LpRounding, RetainsWhatTheSolutionRetains) {
  int evictions = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const CostGraph graph = check::random_cost_graph(seed, {.least_ops = 4, .most_ops = 14});
    const PlanOptions options{.question = {.budget = 1, .freedoms = {.numerics = true}}};
    const Model model = make_model(graph, options);
    const Relaxation relaxation(model, {.question = {.budget = options.question.budget_bytes()}},
                                choose_boundaries(model, options.question.budget_bytes(), 100));
    const Choices choices = first_choices(model, Objective::kEnergy);
    const Policy all = round_lp(relaxation, Point(relaxation.columns().size(), 1), choices);
    EXPECT_EQ(all.intervals, keep_all(model, choices).intervals);
    EXPECT_EQ(all.choices, choices);
    const Policy none = round_lp(relaxation, Point(relaxation.columns().size(), 0), choices);
    for (const IntervalIndex interval : model.intervals.indices()) {
      if (none.intervals[interval] == all.intervals[interval]) continue;
      ++evictions;
      EXPECT_GE(none.intervals[interval].evict, model.intervals[interval].from);
      EXPECT_LT(none.intervals[interval].evict, model.intervals[interval].to);
    }
    Simulator simulator(model, {.question = {.budget = INT64_MAX / 4}});
    const Outcome less = simulator.reset(none);
    if (!less.sound) continue;
    EXPECT_GE(less.value, Simulator(model, {.question = {.budget = INT64_MAX / 4}}).reset(all).value * (1 - 1e-12));
  }
  EXPECT_GT(evictions, 100);
}

}  // namespace
}  // namespace pantoum::plan
