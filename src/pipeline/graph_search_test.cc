#include "pipeline/graph_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "ir/op_registry.h"
#include "pipeline/planned_step.h"
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
