// Evaluation graphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "autodiff/autodiff.h"
#include "ir/builder.h"

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::Kind;
using ir::ValueId;

ir::TensorType f32(ir::Shape shape) {
  return {ir::DType::kF32, std::move(shape)};
}

// x [4,3] -> batch norm -> dropout -> fc [4,2] -> softmax
struct Network {
  Graph graph;
  ir::Builder builder{graph};
  ValueId x, mean, var, y;

  explicit Network(bool with_statistics = true) {
    const ir::TensorType three = f32({3});
    x = builder.input("x", f32({4, 3}));
    const ValueId scale = builder.parameter("bn.scale", three, nullptr),
                  bias = builder.parameter("bn.bias", three, nullptr);
    mean = builder.buffer("bn.mean", three, nullptr);
    var = builder.buffer("bn.var", three, nullptr);
    const ValueId w = builder.parameter("fc.weight", f32({3, 2}), nullptr);
    const auto norm = builder.add(Kind::k_batch_norm, "bn", {x, scale, bias}, {{}, {1e-5}});
    if (with_statistics) {
      const auto stats = builder.add(Kind::k_batch_norm_stats, "bn.stats", {mean, var, norm[1], norm[2]}, {{4}, {0.9}});
      graph.value(mean).next = stats[0];
      graph.value(var).next = stats[1];
    }
    const ValueId dropped = builder.op(Kind::k_dropout, "dropout", {norm[0]}, {{1}, {0.5}});
    y = builder.op(Kind::k_matmul, "fc", {dropped, w}, {{0, 0}, {}});
    graph.outputs = {builder.op(Kind::k_softmax, "softmax", {y}, {{1}, {}})};
  }
};

TEST(MakeEvaluation, UsesRunningStatisticsAndNoDropout) {
  const Network net;
  const Result<Graph> graph = make_evaluation(net.graph, {});
  ASSERT_TRUE(graph) << to_text(graph.error());
  ASSERT_TRUE(ir::validate(*graph));
  std::vector<Kind> kinds;
  for (const ir::Op& op : graph->ops) kinds.push_back(op.kind);
  EXPECT_THAT(kinds, testing::ElementsAre(Kind::k_batch_norm_eval, Kind::k_matmul, Kind::k_cross_entropy,
                                          Kind::k_count_correct))
      << ir::to_text(*graph);
  EXPECT_EQ(graph->ops[0].inputs[3], net.mean);
  EXPECT_EQ(graph->ops[0].inputs[4], net.var);
  EXPECT_EQ(graph->ops[1].inputs[0], graph->ops[0].outputs[0]);
}

TEST(MakeEvaluation, ChangesNothingThatPersists) {
  const Result<Graph> graph = make_evaluation(Network().graph, {});
  ASSERT_TRUE(graph);
  for (const ir::Value& value : graph->values) EXPECT_EQ(value.next, ir::kNone) << value.name;
}

TEST(MakeEvaluation, CountsRightAnswersForCrossEntropyAlone) {
  const Result<Graph> classes = make_evaluation(Network().graph, {});
  ASSERT_TRUE(classes);
  ASSERT_EQ(classes->results.size(), 2u);
  EXPECT_EQ(classes->value(classes->results[0]).type, f32({}));
  EXPECT_EQ(classes->value(classes->results[1]).type, f32({2}));
  const Result<Graph> numbers = make_evaluation(Network().graph, {.loss = {{"mse"}}});
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->results.size(), 1u);
}

TEST(MakeEvaluation, MeasuresEveryOutputUnderItsName) {
  Network net;
  net.graph.outputs.push_back(net.y);
  net.graph.output_names = {"chances", "scores"};
  const Result<Graph> graph =
      make_evaluation(net.graph, {.loss = {{.output = "chances"}, {.name = "mse", .output = "scores", .weight = 2}},
                                  .metrics = {.top5 = true, .mae = true}});
  ASSERT_TRUE(graph) << to_text(graph.error());
  std::vector<std::string> names;
  for (const ir::ValueId result : graph->results) names.push_back(graph->value(result).name);
  EXPECT_THAT(names, testing::ElementsAre("loss", "loss.chances", "count_correct.chances", "count_top5.chances",
                                          "loss.scores", "mean_absolute_error.scores"));
}

TEST(MakeEvaluation, UsesTheNamesAndLabelsOfTraining) {
  const Network net;
  const Result<Graph> training = make_training(net.graph, {}), evaluation = make_evaluation(net.graph, {});
  ASSERT_TRUE(training && evaluation);
  for (size_t id = 0; id < net.graph.values.size(); ++id)
    EXPECT_EQ(training->values[id].name, evaluation->values[id].name);
  EXPECT_EQ(training->value(training->labels[0]).type, evaluation->value(evaluation->labels[0]).type);
}

// As torch.nn.BatchNorm2d(track_running_stats=False) is.
TEST(MakeEvaluation, UsesTheBatchWhereABatchNormKeepsNoStatistics) {
  for (const bool keeps : {true, false}) {
    const Result<Graph> graph = make_evaluation(Network(keeps).graph, {});
    ASSERT_TRUE(graph);
    const auto count = [&](ir::Kind kind) {
      return std::count_if(graph->ops.begin(), graph->ops.end(), [&](const ir::Op& op) { return op.kind == kind; });
    };
    EXPECT_EQ(count(ir::Kind::k_batch_norm), keeps ? 0 : 1);
    EXPECT_EQ(count(ir::Kind::k_batch_norm_eval), keeps ? 1 : 0);
  }
}

}  // namespace
}  // namespace pantoum::autodiff
