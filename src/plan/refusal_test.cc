// What is refused, what is only not found, and what a plan may say of itself: the planner's side of the checker's rules.
#include <gtest/gtest.h>

#include <cmath>

#include "check/claims.h"
#include "plan/planner.h"
#include "testing/random_case.h"
#include "testing/sample_graphs.h"

namespace pantoum::plan {
namespace {

constexpr int kLayers = 4;

// Two chains forward, then both back; nothing is paged or computed again. In the graph's order all outputs are kept at
// once; a tower at a time takes about half.
CostGraph towers() {
  SampleGraph sample;
  sample.graph_.device.pager = {};
  std::vector<int64_t> states[2];
  for (std::vector<int64_t>& tower : states)
    for (int layer = 0; layer < kLayers; ++layer)
      tower.push_back(sample.add(tower.empty() ? std::vector<int64_t>{} : std::vector{tower.back()}, 1000, 2));
  for (const std::vector<int64_t>& tower : states) {
    int64_t gradient = sample.add({tower.back()}, 8, 1);
    for (size_t layer = tower.size(); layer-- > 0;) gradient = sample.add({gradient, tower[layer]}, 8, 1);
  }
  for (Op& op : sample.graph_.ops) op.recompute = false;
  return sample.graph_;
}

// The same graph, one tower after the other.
CostGraph tower_by_tower() {
  CostGraph graph = towers();
  graph.order.clear();
  const int64_t gradients = kLayers + 1;
  for (int64_t tower = 0; tower < 2; ++tower) {
    for (int64_t op = 0; op < kLayers; ++op) graph.order.push_back(tower * kLayers + op);
    for (int64_t op = 0; op < gradients; ++op) graph.order.push_back(int64_t{2} * kLayers + tower * gradients + op);
  }
  return graph;
}

PlanOptions asking(Bytes ram, bool reordering = true) {
  return {.question = {.budget = ram, .freedoms = {.reordering = reordering}}, .effort = 1, .threads = 1};
}

TEST(Refusal, OfOneOrderIsNoneWhereAnyMayBeChosen) {
  const CostGraph graph = towers(), better = tower_by_tower();
  const Bytes ram = 5000;
  ASSERT_TRUE(make_plan(better, asking(ram, false))) << "there is a plan, in another order";
  Infeasible why;
  const Result<Plan> plan = make_plan(graph, asking(ram), &why);
  if (plan) {  // the planner has found the order itself
    EXPECT_TRUE(check::judge(*plan));
    return;
  }
  EXPECT_EQ(plan.error().code, "E0302") << to_text(plan.error());
  EXPECT_LE(why.min_ram_bound_bytes, ram);
  EXPECT_GT(why.order_ram_bound_bytes, ram) << "of the planned order it is proved, and said so";
  EXPECT_NE(plan.error().message.find("of the planned order"), std::string::npos) << plan.error().message;
  EXPECT_FALSE(why.refusal.has_value());
}

TEST(Refusal, OfTheGraphsOrderIsProvedWhereItIsKept) {
  const CostGraph graph = towers();
  Infeasible why;
  const Result<Plan> plan = make_plan(graph, asking(5000, false), &why);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, "E0301") << to_text(plan.error());
  ASSERT_TRUE(why.refusal && why.refusal->certificate);
  EXPECT_FALSE(why.refusal->any_order);
  const auto proved = check::check_refusal(*why.refusal);
  ASSERT_TRUE(proved) << to_text(proved.error());
  EXPECT_GT(*proved, 5000);
  Refusal freer = *why.refusal;
  freer.question.freedoms.reordering = true;
  EXPECT_EQ(check::check_refusal(freer).error().code, "E0809");
  freer.any_order = true;
  EXPECT_EQ(check::check_refusal(freer).error().code, "E0805") << "the certificate is for plans that keep the order";
}

TEST(Refusal, OfADeadlineAndOfALimitOnEnergyFollowsFromTheCosts) {
  const CostGraph graph = sample_chain(5);
  const Plan whole = unplanned(graph).value();
  PlanOptions late = asking(whole.predicted.arena_bytes);
  late.question.deadline = whole.predicted.time_s * 0.9;
  Infeasible why;
  ASSERT_EQ(make_plan(graph, late, &why).error().code, "E0301");
  ASSERT_TRUE(why.refusal);
  EXPECT_EQ(why.refusal->of, Objective::kTime);
  EXPECT_TRUE(why.refusal->any_order);
  EXPECT_TRUE(check::check_refusal(*why.refusal));
  PlanOptions dear = asking(whole.predicted.arena_bytes);
  dear.question.energy_limit = whole.predicted.energy_j * 0.9;
  ASSERT_EQ(make_plan(graph, dear, &why).error().code, "E0301");
  EXPECT_EQ(why.refusal->of, Objective::kEnergy);
  EXPECT_TRUE(check::check_refusal(*why.refusal));
}

// Each refusal proves itself, and each plan says only what follows, whatever the question.
TEST(Refusal, AndPlanAreWhatTheCheckerAccepts) {
  int refused = 0, planned = 0;
  for (uint64_t seed = 100; seed < 130; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed, {.most_ops = 8, .several_numerics = seed % 3 == 0});
    const auto whole = unplanned(graph);
    if (!whole) continue;
    for (const int variant : {0, 1, 2, 3, 4}) {
      PlanOptions options =
          asking(std::max<Bytes>(1, whole->predicted.arena_bytes * (seed % 2 == 0 ? 60 : 95) / 100), variant % 2 == 0);
      options.question.objective = static_cast<Objective>(variant % 3);
      options.question.freedoms.paging = variant != 2;
      if (variant == 3) options.question.deadline = whole->predicted.time_s;
      if (variant == 4) options.question.energy_limit = whole->predicted.energy_j;
      SCOPED_TRACE("seed " + std::to_string(seed) + " variant " + std::to_string(variant));
      Infeasible why;
      const Result<Plan> plan = make_plan(graph, options, &why);
      if (plan) {
        const auto judged = check::judge(*plan);
        EXPECT_TRUE(judged) << to_text(judged.error());
        ++planned;
      } else if (plan.error().code == "E0301") {
        ASSERT_TRUE(why.refusal);
        const auto proved = check::check_refusal(*why.refusal);
        EXPECT_TRUE(proved) << to_text(proved.error());
        ++refused;
      }
      EXPECT_LE(why.min_ram_bound_bytes, why.order_ram_bound_bytes);
    }
  }
  EXPECT_GT(planned, 10);
  EXPECT_GT(refused, 10);
}

TEST(KeepsFreedoms, TakesNoWarmStartThatDoesWhatIsForbidden) {
  const CostGraph graph = sample_residual(6);
  const PlanOptions paging{.question = {.budget = 900, .freedoms = {.recomputing = false}}, .effort = 4};
  const Result<Plan> warm = make_plan(graph, paging);
  ASSERT_TRUE(warm) << to_text(warm.error());
  EXPECT_FALSE(keeps_freedoms(graph, *warm, {.paging = false}));
  EXPECT_TRUE(keeps_freedoms(graph, *warm, {.recomputing = false}));
  PlanOptions without = paging;
  without.question.freedoms = {.paging = false};
  without.warm_start = &*warm;
  const Result<Plan> plan = make_plan(graph, without);
  if (!plan) return;
  EXPECT_TRUE(keeps_freedoms(graph, *plan, without.question.freedoms));
  const auto judged = check::judge(*plan);
  EXPECT_TRUE(judged) << to_text(judged.error());
}

// What the planner and the checker find a plan to make use of is the same.
TEST(KeepsFreedoms, AgreesWithTheChecker) {
  int used = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const CostGraph graph = check::random_cost_graph(seed);
    Plan plan = check::random_plan(graph, seed);
    plan.question = {.budget = Bytes{1} << 40};
    plan.predicted = {-1, -1, std::nan(""), std::nan("")};
    const auto found = check::replay(graph, plan);
    if (!found) continue;
    for (bool Freedoms::*freedom :
         {&Freedoms::paging, &Freedoms::recomputing, &Freedoms::in_place, &Freedoms::reordering, &Freedoms::numerics}) {
      Question without{.freedoms = {.numerics = true}};
      without.freedoms.*freedom = false;
      const bool kept = check::check_question_kept(without, *found).has_value();
      EXPECT_EQ(keeps_freedoms(graph, plan, without.freedoms), kept) << "seed " << seed;
      used += kept ? 0 : 1;
    }
  }
  EXPECT_GT(used, 50);
}

TEST(Refusal, KeepsADeadlineByItsUpperEnd) {
  const CostGraph graph = sample_residual(4);
  const Plan whole = unplanned(graph).value();
  for (const double factor : {1.0, 1 - 1e-12, 1 + 1e-12, 1 + 1e-10}) {
    PlanOptions options = asking(whole.predicted.arena_bytes);
    options.question.deadline = whole.predicted.time_s * factor;
    const Result<Plan> plan = make_plan(graph, options);
    if (!plan) continue;
    const auto judged = check::judge(*plan);
    EXPECT_TRUE(judged) << factor << to_text(judged.error());
  }
}

}  // namespace
}  // namespace pantoum::plan
