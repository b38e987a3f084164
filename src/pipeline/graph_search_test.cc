#include "pipeline/graph_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/builder.h"
#include "ir/op_registry.h"
#include "pipeline/algorithm_search.h"
#include "pipeline/numerics.h"
#include "testing/random_graph.h"

namespace pantoum::pipeline {
namespace {

// Convolutions of x, each transposed there and back: transposes merge bit by bit, and convolutions that share x may be merged.
ir::Graph branches(int count) {
  ir::Graph graph;
  graph.name = "branches";
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {1, 16, 2, 3}});
  for (int branch = 0; branch < count; ++branch) {
    const std::string name = "b" + std::to_string(branch);
    const ir::ValueId w = builder.input(name + ".w", {ir::DType::kF32, {8, 16, 1, 1}});
    ir::ValueId y = builder.op(ir::Kind::k_conv2d, name, {x, w}, {{1, 1, 0, 0, 0, 0, 1, 1, 1}, {}});
    y = builder.op(ir::Kind::k_transpose, name + ".there", {y}, {{0, 1, 3, 2}, {}});
    y = builder.op(ir::Kind::k_transpose, name + ".back", {y}, {{0, 1, 3, 2}, {}});
    graph.outputs.push_back(y);
    graph.results.push_back(builder.op(ir::Kind::k_relu, name + ".relu", {y}));
  }
  graph.outputs.clear();
  return graph;
}

int count_of(const ir::Graph& graph, ir::Kind kind) {
  return static_cast<int>(
      std::count_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) { return op.kind == kind; }));
}

std::vector<const rewrite::Rule*> all_rules(bool numerics) {
  PlanRequest request;
  request.options.question.freedoms.numerics = numerics;
  return rules_for(request, false);
}

TEST(GraphSearch, FindsWhatCostsLessAndSaysHow) {
  const ir::Graph first = branches(3);
  const CostOfGraph ops = [](const ir::Graph& graph) { return static_cast<double>(graph.ops.size()); };
  const std::vector<FoundGraph> found = search_graphs(first, ops, {.rules = all_rules(false)});
  ASSERT_GT(found.size(), 1U);
  EXPECT_EQ(found.front().graph.ops.size(), 6U) << "three convolutions, three relus";
  EXPECT_EQ(count_of(found.front().graph, ir::Kind::k_transpose), 0);
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const FoundGraph& graph) { return graph.made_by.empty(); }));
  for (size_t at = 1; at < found.size() && !found[at].made_by.empty(); ++at)
    EXPECT_LE(found[at - 1].cost, found[at].cost);
  // The substitutions make that graph again.
  const Result<ir::Graph> again = substituted(first, found.front().made_by);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(ir::to_text(*again), ir::to_text(found.front().graph));
}

TEST(GraphSearch, ChangesBitsOnlyWhereItMay) {
  const CostOfGraph convolutions = [](const ir::Graph& graph) {
    return count_of(graph, ir::Kind::k_conv2d) + 1e-3 * static_cast<double>(graph.ops.size());
  };
  const auto least = [&](bool numerics) {
    return search_graphs(branches(2), convolutions, {.rules = all_rules(numerics)}).front();
  };
  EXPECT_EQ(count_of(least(false).graph, ir::Kind::k_conv2d), 2);
  EXPECT_EQ(count_of(least(true).graph, ir::Kind::k_conv2d), 1);
  for (const Substitution& made : least(false).made_by)
    EXPECT_EQ(rewrite::find_rule(made.rule.c_str())->preserves, rewrite::Preserves::kBits);
}

// A hill of one step: alpha 1 stays, 1.2 crosses it.
TEST(GraphSearch, CrossesWhatCostsALittleMore) {
  const ir::Graph first = branches(2);
  const CostOfGraph hill = [&](const ir::Graph& graph) {
    const int transposes = count_of(graph, ir::Kind::k_transpose);
    return transposes == 4 ? 10.0 : transposes == 2 ? 11.0 : 5.0 + transposes;
  };
  const std::vector<const rewrite::Rule*> known = {rewrite::find_rule("merge-transposes")};
  ASSERT_NE(known[0], nullptr);
  const auto least = [&](double alpha, bool everywhere) {
    GraphSearchRequest request{.rules = known, .alpha = alpha};
    request.everywhere = everywhere;
    return search_graphs(first, hill, request).front().cost;
  };
  EXPECT_EQ(least(1.0, false), 10);
  EXPECT_EQ(least(1.2, false), 5);
  EXPECT_EQ(least(1.0, true), 5) << "both at once";
}

TEST(GraphSearch, EndsWhereItIsTold) {
  const CostOfGraph one = [](const ir::Graph&) { return 1.0; };
  size_t asked = 0;
  const auto counted = [&](const ir::Graph& graph) {
    ++asked;
    return one(graph);
  };
  (void)search_graphs(branches(6), counted, {.rules = all_rules(true), .most_graphs = 7});
  EXPECT_LE(asked, 8U);
  asked = 0;
  const auto found = search_graphs(branches(6), counted, {.rules = all_rules(true), .is_over = [] { return true; }});
  EXPECT_EQ(asked, 1U);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(found.front().made_by.empty());
}

TEST(GraphSearch, RefusesSubstitutionsOfAnotherGraph) {
  const auto refusal = [](std::vector<Substitution> made) {
    const auto graph = substituted(branches(2), made);
    return graph ? "accepted" : graph.error().code;
  };
  EXPECT_EQ(refusal({}), "accepted");
  EXPECT_EQ(refusal({{"no-such-rule", "b0"}}), "E0231");
  EXPECT_EQ(refusal({{"merge-convolutions", "nowhere"}}), "E0231");
  EXPECT_EQ(refusal({{"merge-convolutions", "b0.relu"}}), "E0231");
  EXPECT_EQ(refusal({{"merge-convolutions", std::string("b0\0\x1b[31m", 8)}}), "E0231");
}

TEST(GraphSearch, SwitchesRulesOff) {
  PlanRequest request;
  request.options.question.freedoms.numerics = true;
  const size_t all = rules_for(request, true).size();
  EXPECT_EQ(all, rewrite::rules().size());
  EXPECT_LT(rules_for(request, false).size(), all);
  request.rewrite.without = {"merge-convolutions", "merge-reshapes"};
  EXPECT_EQ(rules_for(request, true).size(), all - 2);
  request.options.question.freedoms.numerics = false;
  for (const rewrite::Rule* rule : rules_for(request, true)) EXPECT_EQ(rule->preserves, rewrite::Preserves::kBits);
}

// ---- algorithms ----

double exhaustive(const problem::CostGraph& graph, const Aim& aim) {
  double best = HUGE_VAL;
  std::vector<size_t> at(graph.ops.size(), 0);
  while (true) {
    double energy = 0, time = 0;
    bool allowed = true;
    for (size_t op = 0; op < at.size(); ++op) {
      const problem::Choice& choice = graph.ops[op].choices[at[op]];
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
    const problem::CostGraph graph = check::random_cost_graph(seed, {.most_ops = 6});
    Aim aim, soonest;
    aim.question.freedoms.numerics = soonest.question.freedoms.numerics = true;
    soonest.question.objective = problem::Objective::kTime;
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
    const problem::CostGraph graph = check::random_cost_graph(seed, {.most_ops = 6});
    for (const bool numerics : {false, true}) {
      Aim aim;
      aim.question.freedoms.numerics = numerics;
      for (const auto objective :
           {problem::Objective::kEnergy, problem::Objective::kTime, problem::Objective::kWeighted}) {
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
    const problem::CostGraph graph = check::random_cost_graph(seed, {.most_ops = 6});
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

// ---- what a checkpoint keeps ----

TEST(Numerics, AreKeptAsTheyWereAndRefusedWhereDamaged) {
  PlanRequest request;
  request.options.question.freedoms.numerics = true;
  ASSERT_TRUE(keep_numerics(R"({"substitutions":[{"rule":"merge-convolutions","at":"b0"}],"classes":{"conv":"winograd"}})",
                            "checkpoint", request));
  EXPECT_FALSE(request.rewrite.search);
  EXPECT_FALSE(request.options.question.freedoms.numerics) << "what was chosen stays";
  EXPECT_EQ(request.rewrite.substitutions, (std::vector<Substitution>{{"merge-convolutions", "b0"}}));
  EXPECT_EQ(request.rewrite.classes.at("conv"), "winograd");
  PlanRequest plain;
  ASSERT_TRUE(keep_numerics("", "checkpoint", plain));
  EXPECT_TRUE(plain.rewrite.substitutions.empty());
  EXPECT_TRUE(plain.rewrite.search) << "for what keeps every bit";
  for (const char* damaged : {"{", "[]", "{}", R"({"substitutions":3,"classes":{}})",
                              R"({"substitutions":[{}],"classes":{}})", R"({"substitutions":[],"classes":{"a":1}})"}) {
    const auto kept = keep_numerics(damaged, "checkpoint", plain);
    ASSERT_FALSE(kept) << damaged;
    EXPECT_EQ(kept.error().code, "E0243");
  }
}

}  // namespace
}  // namespace pantoum::pipeline
