// What the search promises whatever the graph: a plan at once where one is known, the best of plans of one value, an order
// that fits where the graph's own does not.
#include "plan/solver.h"

#include <gtest/gtest.h>

#include "check/replay.h"
#include "plan/planner.h"
#include "testing/random_graph.h"
#include "testing/tower_graph.h"

namespace pantoum::plan {
namespace {

#ifdef PANTOUM_SANITIZER
constexpr uint64_t kGraphs = 10, kTowers = 50;
#else
constexpr uint64_t kGraphs = 60, kTowers = 300;
#endif

TEST(PlanSearch, FindsAPlanHoweverShortTheLimitWhereOneIsKnown) {
  uint64_t found = 0;
  for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    const auto whole = unplanned(graph);
    if (!whole) continue;
    for (const int percent : {100, 85, 60}) {
      PlanOptions options{.question = {.budget = std::max<Bytes>(1, whole->predicted.arena_bytes * percent / 100)},
                          .effort = 1};
      if (!make_plan(graph, options)) continue;
      options.effort = 0;
      options.time_limit = 1e-3;
      const auto plan = make_plan(graph, options);
      ASSERT_TRUE(plan) << "seed " << seed << " percent " << percent << ": " << to_text(plan.error());
      EXPECT_TRUE(check::replay(graph, *plan, options.question));
      ++found;
    }
  }
  EXPECT_GT(found, kGraphs);
}

// Two ops, each with a choice that is as good by one figure and better by the other.
CostGraph with_ties() {
  CostGraph graph;
  graph.device = {.name = "test", .ram_bytes = 1 << 20};
  for (int64_t id = 0; id < 2; ++id) {
    graph.tensors.push_back({.id = id, .name = "t" + std::to_string(id), .bytes = 64});
    Op op{.id = id, .name = "op" + std::to_string(id), .inputs = {}, .outputs = {id}};
    if (id == 1) op.inputs = {0};
    for (const bool better : {false, true}) {
      Choice choice{.time_s = 2, .energy_j = 3, .writes = {0}};
      if (id == 1) choice.reads = {0};
      (id == 0 ? choice.time_s : choice.energy_j) -= better ? 1 : 0;  // of the same energy; of the same time
      op.choices.push_back(choice);
    }
    graph.ops.push_back(op);
    graph.order.push_back(id);
  }
  graph.tensors[1].end = Home::kRam;
  return graph;
}

TEST(PlanSearch, SettlesTiesByTheOtherFigure) {
  for (const Objective objective : {Objective::kEnergy, Objective::kTime}) {
    for (const int64_t effort : {0, 1}) {
      const PlanOptions options{
          .question = {.budget = 4096, .objective = objective}, .time_limit = 5, .effort = effort};
      const auto plan = make_plan(with_ties(), options);
      ASSERT_TRUE(plan) << to_text(plan.error());
      EXPECT_DOUBLE_EQ(plan->predicted.energy_j, 5);
      EXPECT_DOUBLE_EQ(plan->predicted.time_s, 3);
      EXPECT_EQ(plan->status, Status::kOptimal);
    }
  }
}

// Towers one after the other need less than side by side: the graph's own order has them side by side.
TEST(PlanSearch, PlansInAnOrderThatFits) {
  uint64_t better = 0;
  for (uint64_t seed = 1; seed <= kTowers; ++seed) {
    const CostGraph graph = plan_test::tower_graph(seed);
    const auto own = unplanned(graph, {.question = {.freedoms = {.reordering = false}}});
    if (!own || own->predicted.arena_bytes < 2) continue;
    PlanOptions options{.question = {.budget = own->predicted.arena_bytes * 9 / 10}, .effort = 1};
    const auto free = make_plan(graph, options);
    options.question.freedoms.reordering = false;
    const auto kept = make_plan(graph, options);
    if (kept) {
      ASSERT_TRUE(free) << "seed " << seed;
      EXPECT_LE(free->predicted.energy_j, kept->predicted.energy_j * (1 + 1e-9)) << "seed " << seed;
    }
    if (free && (!kept || free->predicted.energy_j < kept->predicted.energy_j * (1 - 1e-9))) ++better;
  }
  EXPECT_GT(better, kTowers / 60);
}

}  // namespace
}  // namespace pantoum::plan
