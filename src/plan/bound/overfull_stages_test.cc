
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "check/certificate.h"
#include "plan/bound/bound_search.h"
#include "plan/bound/boundaries.h"
#include "plan/bound/bounds.h"
#include "plan/bound/relaxation.h"
#include "plan/planner.h"
#include "plan/simulate/switches.h"
#include "testing/chain_graphs.h"

namespace pantoum::plan {
namespace {

CostGraph chain_without_pager(int64_t length) {
  CostGraph graph = plan_test::chain(length);
  graph.device.pager.mode = PagerMode::kNone;
  return graph;
}

struct Asked {
  CostGraph graph = chain_without_pager(24);
  PlanOptions options;
  Model model;

  explicit Asked(Bytes percent) {
    options.question = {.budget = unplanned(graph).value().predicted.peak_bytes * percent / 100,
                        .objective = Objective::kTime};
    model = make_model(graph, options);
  }
  Bytes budget() const { return options.question.budget_bytes(); }
};

// Everything is retained, nothing recomputed.
Point keeping(const Relaxation& relaxation) {
  Point point(relaxation.columns().size(), 0);
  for (const ColumnIndex column : point.indices())
    if (relaxation.decision(column)->variable == Variable::kInRam) point[column] = 1;
  return point;
}

TEST(OverfullStages, AreWhereRetainingEverythingPresses) {
  const Asked asked(70);
  const std::vector<Stage> pressed = choose_boundaries(asked.model, asked.budget(), 1000);
  ASSERT_GT(pressed.size(), 4U);
  const Relaxation relaxation(asked.model, {.question = asked.options.question}, {pressed[1], asked.model.end()});
  const std::vector<Stage> found = overfull_stages(relaxation, keeping(relaxation), 10);
  ASSERT_EQ(found.size(), 2U) << "one of each segment";
  for (const Stage stage : found) {
    EXPECT_TRUE(std::binary_search(pressed.begin(), pressed.end(), stage));
    EXPECT_NE(stage, pressed[1]);
    EXPECT_NE(stage, asked.model.end());
  }
  EXPECT_EQ(overfull_stages(relaxation, keeping(relaxation), 1).size(), 1U);
}

TEST(OverfullStages, AreNoneWhereAllFitsOrNothingIsRetained) {
  const Asked roomy(300), tight(70);  // what is retained for recomputations beyond its last use counts too
  const std::vector<Stage> some{roomy.model.stages() / 2, roomy.model.end()};
  const Relaxation fits(roomy.model, {.question = roomy.options.question}, some);
  EXPECT_TRUE(overfull_stages(fits, keeping(fits), 10).empty());
  const Relaxation presses(tight.model, {.question = tight.options.question},
                           choose_boundaries(tight.model, tight.budget(), 1000));
  EXPECT_TRUE(overfull_stages(presses, Point(presses.columns().size(), 1), 10).empty());
}

// By the stages that press, as by their number: a bound, and no less of one.
TEST(BoundSearch, ProvesByOverfullStagesWhatItProvesByTheirNumber) {
  for (const Bytes percent : {60, 75, 90}) {
    SCOPED_TRACE(percent);
    Asked asked(percent);
    const auto plan = make_plan(asked.graph, {.question = asked.options.question, .effort = 20});
    ASSERT_TRUE(plan) << to_text(plan.error());
    double proved[2];
    for (const bool by_number : {false, true}) {
      if (by_number) asked.options.without.add(Switch::kOverfullBoundaries);
      asked.model = make_model(asked.graph, asked.options);
      const double least = lower_bounds(asked.model).time;
      BoundSearch search(asked.model, asked.options, least);
      search.run({.seconds_left = [] { return 10.0; }, .value = [&] { return plan->predicted.time_s; }, .effort = 40});
      ASSERT_TRUE(search.certificate().has_value());
      const auto bound = check::check_certificate(asked.graph, *search.certificate());
      ASSERT_TRUE(bound) << to_text(bound.error());
      EXPECT_LE(*bound, plan->predicted.time_s * (1 + 1e-9));
      EXPECT_GT(search.bound(), least * 1.0001);
      proved[by_number ? 1 : 0] = search.bound();
    }
    EXPECT_GE(proved[0], proved[1] * (1 - 1e-3));
  }
}

}  // namespace
}  // namespace pantoum::plan
