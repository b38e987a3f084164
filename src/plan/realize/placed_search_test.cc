// Wide steps without storage: what offsets cost there, and what is made of the RAM that they leave.
#include "plan/realize/realize.h"

#include <gtest/gtest.h>

#include "check/replay.h"
#include "plan/planner.h"
#include "plan/realize/reserve.h"
#include "plan/simulate/simulate.h"
#include "testing/wide_graph.h"

namespace pantoum::plan {
namespace {

PlanOptions options_for(Bytes budget) {
  return {
      .question = {.budget = budget, .objective = Objective::kTime, .freedoms = {.paging = false, .reordering = false}},
      .effort = 2};
}

Bytes unplanned_peak(const CostGraph& graph) {
  return unplanned(graph, options_for(1))->predicted.arena_bytes;
}

Policy kept(const Model& model) {
  return keep_all(model, first_choices(model, Objective::kTime));
}

TEST(PlacedSearch, MakesABetterPlanOfThePlanForLessRam) {
  int better = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    const CostGraph graph = plan_test::wide_graph(seed, 60);
    const Bytes budget = unplanned_peak(graph) * 9 / 10;
    const PlanOptions whole = options_for(budget), part = options_for(budget * 92 / 100);
    const Model model = make_model(graph, whole);
    const Limit limit{.question = whole.question}, less{.question = part.question};
    const SearchResult start = greedy(model, less, kept(model), {});
    if (!start.outcome.fits()) continue;
    Simulator simulator(model, limit);
    simulator.reset(start.policy);
    const Realized placed = realize(graph, model, simulator.events(), whole, budget);
    if (!placed.plan) continue;
    const auto found = improve_placed(graph, model, limit, whole, start.policy, *placed.plan, {.rounds = 4000});
    if (!found) continue;
    ++better;
    EXPECT_LT(found->plan.predicted.time_s, placed.plan->predicted.time_s);
    EXPECT_LE(found->plan.predicted.arena_bytes, budget);
    EXPECT_TRUE(check::replay(graph, found->plan, whole.question));
    EXPECT_NEAR(simulator.reset(found->policy).time, found->plan.predicted.time_s, 1e-12);
  }
  EXPECT_GT(better, 3);
}

// The sum of live bytes may be all of the budget; offsets take some percent of it.
TEST(PlacedSearch, APlanWhereOffsetsCostRam) {
  for (uint64_t seed = 11; seed <= 12; ++seed) {
    SCOPED_TRACE(seed);
    const CostGraph graph = plan_test::wide_graph(seed, 90);
    const PlanOptions options = options_for(unplanned_peak(graph) * 85 / 100);
    const auto plan = make_plan(graph, options);
    ASSERT_TRUE(plan) << to_text(plan.error());
    EXPECT_TRUE(check::replay(graph, *plan, options.question));
    const auto again = make_plan(graph, options);
    ASSERT_TRUE(again);
    EXPECT_EQ(plan->predicted.time_s, again->predicted.time_s);
  }
}

// ---- Reserve -----------------------------------------------------------------------------------------------

Bytes most_of(const Reserve& reserve) {
  return reserve.by_stage() ? *std::max_element(reserve.by_stage()->begin(), reserve.by_stage()->end()) : 0;
}

TEST(Reserve, GrowsByWhatWasLackedAndShrinksTowardsTooLittle) {
  const CostGraph graph = plan_test::wide_graph(1, 60);
  const Bytes budget = unplanned_peak(graph);
  const Model model = make_model(graph, options_for(budget));
  Reserve reserve(model, budget);
  EXPECT_EQ(most_of(reserve), 0);
  EXPECT_FALSE(reserve.shrink());
  EXPECT_FALSE(reserve.grow({}));  // nothing is known
  ASSERT_TRUE(reserve.grow({.plan = {}, .byte_excess = budget / 50}));
  const Bytes first = most_of(reserve);
  EXPECT_EQ(first, budget / 50);
  ASSERT_TRUE(reserve.shrink());
  const Bytes second = most_of(reserve);
  EXPECT_LT(second, first);
  ASSERT_TRUE(reserve.grow({.plan = {}, .byte_excess = budget}));  // never beyond what was enough
  EXPECT_GT(most_of(reserve), second);
  EXPECT_LT(most_of(reserve), first);
  int steps = 0;
  while (reserve.shrink()) ++steps;
  EXPECT_LT(steps, 12);
}

TEST(Reserve, KeepsWhereOffsetsClashAtFewStages) {
  const CostGraph graph = plan_test::wide_graph(2, 60);
  const Bytes budget = unplanned_peak(graph);
  const Model model = make_model(graph, options_for(budget));
  Reserve reserve(model, budget);
  Realized missed{.plan = {}, .byte_excess = budget / 40};
  missed.clashes.assign(static_cast<size_t>(model.end()) + 1, 0);
  missed.clashes[Stage{20}] = 50;
  missed.clashes[Stage{21}] = budget;
  ASSERT_TRUE(reserve.grow(missed));
  EXPECT_EQ((*reserve.by_stage())[Stage{19}], 0);
  EXPECT_EQ((*reserve.by_stage())[Stage{20}], 50);
  EXPECT_EQ((*reserve.by_stage())[Stage{21}], budget / 40);
}

// Where a policy cannot leave as much free, what it has is enough.
TEST(Reserve, GivesWayWhereAPolicyHasTooManyBytes) {
  const CostGraph graph = plan_test::wide_graph(3, 60);
  const Bytes budget = unplanned_peak(graph);
  const Model model = make_model(graph, options_for(budget));
  Reserve reserve(model, budget);
  reserve.give_way(kept(model));
  EXPECT_FALSE(reserve.by_stage());
  ASSERT_TRUE(reserve.grow({.plan = {}, .byte_excess = budget / 20}));
  EXPECT_FALSE(
      Simulator(model, {.question = {.budget = budget}, .reserve = reserve.by_stage()}).reset(kept(model)).fits());
  reserve.give_way(kept(model));
  const Limit limit{.question = {.budget = budget}, .reserve = reserve.by_stage()};
  EXPECT_TRUE(Simulator(model, limit).reset(kept(model)).fits());
}

}  // namespace
}  // namespace pantoum::plan
