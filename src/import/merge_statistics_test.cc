// One batch norm that is called several times in a step: PyTorch moves its running statistics in every call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "autodiff/running_statistics.h"
#include "import/onnx_messages.h"
#include "testing/evaluate.h"
#include "testing/onnx_model.h"

namespace pantoum::import {
namespace {

constexpr float kFirst = 0.5F;  // every running statistic before the step

struct Calls {
  std::vector<double> momenta;
  bool handed = false;  // each call is given what the one before left, else the file's statistics
};

// Calls on windows of x, of different sizes, so that each has statistics of its own.
OnnxModel calling(const Calls& calls) {
  OnnxModel source;
  source.input("x", {"4", "3", "6"}).weight("scale", {3}).weight("bias", {3}).weight("mean", {3}).weight("var", {3});
  source.integers("axis", {2}).integers("zero", {0});
  std::string mean = "mean", variance = "var";
  for (size_t call = 0; call < calls.momenta.size(); ++call) {
    const std::string number = std::to_string(call);
    source.integers("end" + number, {static_cast<int64_t>(6 - call)});
    source.node("Slice", {"x", "zero", "end" + number, "axis"}, {"x" + number});
    source.node("BatchNormalization", {"x" + number, "scale", "bias", mean, variance},
                {"y" + number, "next_mean" + number, "next_var" + number});
    source.attribute("training_mode", 1).real_attribute("momentum", static_cast<float>(calls.momenta[call]));
    if (calls.handed) mean = "next_mean" + number, variance = "next_var" + number;
    source.output("y" + number);
  }
  return source;
}

ir::ValueId buffer(const ir::Graph& graph, const std::string& name) {
  ir::ValueId found = ir::kNone;
  for (ir::ValueId id = 0; id < static_cast<ir::ValueId>(graph.values.size()); ++id) {
    if (graph.value(id).role != ir::Role::kBuffer) continue;
    EXPECT_TRUE(graph.value(id).name == "mean" || graph.value(id).name == "var") << graph.value(id).name;
    if (graph.value(id).name == name) found = id;
  }
  return found;
}

// Call by call, as PyTorch does it.
std::vector<double> one_by_one(const ir::Evaluated& values, const ir::Graph& graph, const Calls& calls, bool variance) {
  std::vector<double> kept(3, kFirst);
  size_t call = 0;
  for (const ir::Op& op : graph.ops) {
    if (op.kind != ir::Kind::k_batch_norm) continue;
    const double count = 4.0 * static_cast<double>(6 - call), unbiased = variance ? count / (count - 1) : 1;
    const std::vector<float> batch = values.as<float>(op.outputs[variance ? 2 : 1]);
    const double momentum = static_cast<float>(calls.momenta[call++]);
    for (size_t channel = 0; channel < 3; ++channel)
      kept[channel] = momentum * kept[channel] + (1 - momentum) * unbiased * double{batch[channel]};
  }
  return kept;
}

std::vector<std::byte> ramp(size_t count) {
  std::vector<std::byte> bytes(count * sizeof(float));
  for (size_t at = 0; at < count; ++at) {
    const float value = static_cast<float>((at * 37) % 11) - 4.5F + static_cast<float>(at) * 0.01F;
    std::memcpy(&bytes[at * sizeof value], &value, sizeof value);
  }
  return bytes;
}

TEST(MergeStatistics, MovesThemAsCallsOneByOneWould) {
  const std::vector<std::vector<double>> momenta = {{0.9},    {0.9, 0.9},      {0.9, 0.9, 0.9}, {0.1, 0.99, 0.5, 0.9},
                                                    {0, 0.5}, {0.5, 0},        {1, 0.9},        {0.9, 1},
                                                    {1, 1},   {0.9999, 0.9999}};
  for (const auto& each : momenta) {
    for (const Calls& calls : {Calls{each, false}, Calls{each, true}}) {
      SCOPED_TRACE(::testing::PrintToString(each) + (calls.handed ? " handed on" : ""));
      const auto model = calling(calls).load();
      ASSERT_TRUE(model) << to_text(model.error());
      const ir::Graph& graph = model->graph;
      EXPECT_THAT(model->info.warnings, ::testing::IsEmpty());
      EXPECT_EQ(std::ranges::count(graph.ops, ir::Kind::k_batch_norm_stats, &ir::Op::kind), 1);
      const auto values = ir::evaluate(graph, *pt_portable_kernels(), {{graph.inputs[0], ramp(72)}});
      ASSERT_TRUE(values) << to_text(values.error());
      for (const bool variance : {false, true}) {
        const ir::ValueId kept = buffer(graph, variance ? "var" : "mean");
        const std::vector<float> next = values->as<float>(graph.value(kept).next);
        const std::vector<double> expected = one_by_one(*values, graph, calls, variance);
        for (size_t channel = 0; channel < 3; ++channel) EXPECT_NEAR(next[channel], expected[channel], 2e-6);
      }
    }
  }
}

TEST(MergeStatistics, EvaluatesAndFreezesEveryCall) {
  const Calls calls{{0.9, 0.8, 0.9}};
  auto model = calling(calls).load();
  ASSERT_TRUE(model) << to_text(model.error());
  ASSERT_TRUE(autodiff::freeze_statistics(model->graph, {"mean"}));
  for (const ir::Op& op : model->graph.ops) EXPECT_NE(op.kind, ir::Kind::k_batch_norm) << op.name;
  EXPECT_EQ(std::ranges::count(model->graph.ops, ir::Kind::k_batch_norm_eval, &ir::Op::kind), 3);
  EXPECT_EQ(model->graph.value(buffer(model->graph, "mean")).next, ir::kNone);
}

TEST(MergeStatistics, OfTwoNormsStayApart) {
  OnnxModel source;
  source.input("x", {"4", "3", "6"}).weight("scale", {3}).weight("bias", {3}).weight("mean", {3}).weight("var", {3});
  source.weight("mean2", {3}).weight("var2", {3});
  source.node("BatchNormalization", {"x", "scale", "bias", "mean", "var"}, {"h", "m", "v"})
      .attribute("training_mode", 1);
  source.node("BatchNormalization", {"h", "scale", "bias", "mean2", "var2"}, {"y", "m2", "v2"});
  source.attribute("training_mode", 1).output("y");
  const auto model = source.load();
  ASSERT_TRUE(model) << to_text(model.error());
  EXPECT_EQ(std::ranges::count(model->graph.ops, ir::Kind::k_batch_norm_stats, &ir::Op::kind), 2);
  for (const ir::Op& op : model->graph.ops) EXPECT_NE(op.kind, ir::Kind::k_scale);
}

TEST(MergeStatistics, AMomentumOutOfRangeIsRefused) {
  for (const double momentum : {-0.1, 1.1, 1e30}) {
    const auto model = calling({{momentum}}).load();
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, "E0211");
  }
}

}  // namespace
}  // namespace pantoum::import
