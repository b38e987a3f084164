#include "autodiff/feature_cut.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "autodiff/autodiff.h"
#include "autodiff/running_statistics.h"
#include "testing/evaluate.h"
#include "testing/gradient_cases.h"

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::Kind;
using ir::ValueId;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kBatch = 4;

// x -> conv -> batch norm -> relu -> flatten -> fc; `skip`: the head reads x as well.
struct Network {
  Graph graph;
  CaseBuilder c{graph, 11};
  ValueId x = c.builder.input("x", f32({kBatch, 2, 5, 5}));

  explicit Network(bool skip = false, bool dropout = false) {
    const ValueId conv = c.op(Kind::k_conv2d, {x, c.frozen({3, 2, 3, 3})}, {{1, 1, 0, 0, 0, 0, 1, 1, 1}, {}});
    const auto norm = c.ops(Kind::k_batch_norm, {conv, c.frozen({3}), c.frozen({3})}, {{}, {1e-5}});
    const ValueId mean = c.builder.buffer("bn.mean", f32({3}), nullptr),
                  var = c.builder.buffer("bn.var", f32({3}), nullptr);
    const auto stats = c.ops(Kind::k_batch_norm_stats, {mean, var, norm[1], norm[2]}, {{kBatch * 9}, {0.9}});
    graph.value(mean).next = stats[0];
    graph.value(var).next = stats[1];
    ValueId last = c.op(Kind::k_relu, {norm[0]});
    if (dropout) last = c.op(Kind::k_dropout, {last}, {{1}, {0.5}});
    last = c.op(Kind::k_matmul, {c.builder.reshape(last, {kBatch, 27}), c.parameter({27, 6})}, {{0, 0}, {}});
    if (skip) {
      const ValueId mean_of_x = c.op(Kind::k_reduce_mean, {c.op(Kind::k_mul, {x, c.parameter({5})})}, {{14}, {}});
      last = c.op(Kind::k_add, {last, c.builder.reshape(mean_of_x, {kBatch, 1})});
    }
    graph.outputs = {last};
  }
};

std::vector<Kind> kinds(const Graph& graph) {
  std::vector<Kind> found;
  for (const ir::Op& op : graph.ops) found.push_back(op.kind);
  return found;
}

ir::Feeds images(const Graph& graph) {
  ir::Feeds feeds;
  std::vector<float> pixels(kBatch * 50);
  for (size_t at = 0; at < pixels.size(); ++at) pixels[at] = std::sin(static_cast<float>(at));
  feeds[graph.inputs[0]].resize(pixels.size() * sizeof(float));
  std::memcpy(feeds[graph.inputs[0]].data(), pixels.data(), pixels.size() * sizeof(float));
  return feeds;
}

TEST(CutFeatures, BackboneAndHeadMakeTheWhole) {
  for (const bool skip : {false, true}) {
    Network net(skip);
    ASSERT_TRUE(freeze_statistics(net.graph, {"bn.*"}));
    const auto cut = cut_features(net.graph);
    ASSERT_TRUE(cut) << to_text(cut.error());
    ASSERT_TRUE(ir::validate(cut->backbone) && ir::validate(cut->head));
    EXPECT_THAT(kinds(cut->backbone), ElementsAre(Kind::k_conv2d, Kind::k_batch_norm_eval, Kind::k_relu));
    EXPECT_EQ(cut->head.ops[0].kind, Kind::k_alias);
    EXPECT_EQ(cut->head.inputs.size(), skip ? 2U : 1U);
    EXPECT_EQ(cut->backbone.results.size(), 1U);  // x is no feature
    const ir::Feeds feeds = images(net.graph);
    const auto whole = ir::evaluate(net.graph, *pt_portable_kernels(), feeds);
    const auto features = ir::evaluate(cut->backbone, *pt_portable_kernels(), feeds);
    ASSERT_TRUE(whole && features);
    ir::Feeds given;
    for (const ValueId input : cut->head.inputs) given[input] = features->bytes[static_cast<size_t>(input)];
    const auto head = ir::evaluate(cut->head, *pt_portable_kernels(), given);
    ASSERT_TRUE(head) << to_text(head.error());
    EXPECT_EQ(head->bytes[static_cast<size_t>(net.graph.outputs[0])],
              whole->bytes[static_cast<size_t>(net.graph.outputs[0])]);
    EXPECT_TRUE(make_training(cut->head, {.loss = {{.name = "mse"}}}));
  }
}

TEST(CutFeatures, StatisticsOfTheBatchEndIt) {
  const Network net;
  const auto cut = cut_features(net.graph);
  ASSERT_TRUE(cut);
  EXPECT_THAT(kinds(cut->backbone), ElementsAre(Kind::k_conv2d));
  EXPECT_THAT(cut->head.notes, Contains(HasSubstr("--freeze-stats")));
}

TEST(CutFeatures, RandomnessEndsIt) {
  Network net(false, true);
  ASSERT_TRUE(freeze_statistics(net.graph, {"bn.*"}));
  const auto cut = cut_features(net.graph);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->head.ops[0].kind, Kind::k_dropout);
  EXPECT_THAT(cut->head.notes, Contains(HasSubstr("draws at random")));
}

TEST(CutFeatures, NumbersDrawnInEveryStepAreNoFeatures) {
  Network net;
  ASSERT_TRUE(freeze_statistics(net.graph, {"bn.*"}));
  const ValueId noise = net.c.op(Kind::k_random, {}, {{1, PT_RANDOM_NORMAL}, {0, 1}}, {f32({kBatch, 6})});
  net.graph.outputs = {net.c.op(Kind::k_add, {net.graph.outputs[0], noise})};
  const auto cut = cut_features(net.graph);
  ASSERT_TRUE(cut);
  const std::vector<Kind> backbone = kinds(cut->backbone), head = kinds(cut->head);
  EXPECT_THAT(backbone, testing::Not(Contains(Kind::k_random)));
  EXPECT_THAT(head, Contains(Kind::k_random));
  EXPECT_TRUE(ir::validate(cut->head));
}

TEST(CutFeatures, WhatIsTrainedEndsItAndMayLeaveNothing) {
  Network net;
  ASSERT_TRUE(freeze_statistics(net.graph, {"bn.*"}));
  for (ir::Value& value : net.graph.values)
    if (value.role == ir::Role::kParameter) value.trainable = true;
  const auto cut = cut_features(net.graph);
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, "E0123");
}

TEST(FreezeStatistics, TheNormIsTheOneOfEvaluationAndItsStatisticsStay) {
  Network net;
  ASSERT_TRUE(freeze_statistics(net.graph, {"bn.mean"}));
  ASSERT_TRUE(ir::validate(net.graph));
  EXPECT_THAT(kinds(net.graph),
              ElementsAre(Kind::k_conv2d, Kind::k_batch_norm_eval, Kind::k_relu, Kind::k_alias, Kind::k_matmul));
  for (const ir::Value& value : net.graph.values) EXPECT_EQ(value.next, ir::kNone);
  EXPECT_TRUE(freeze_statistics(net.graph, {"bn.mean"}));  // they are already
  const auto none = freeze_statistics(net.graph, {"bn.other"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "E0104");
}

}  // namespace
}  // namespace pantoum::autodiff
