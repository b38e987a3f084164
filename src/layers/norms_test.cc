// Batch normalization's statistics and first values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/built_model.h"

namespace pantoum::layers {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kBatch = 4, kColumns = 3;

Result<import::Imported> with(const BatchNorm& layer) {
  ModelBuilder net;
  net.output("y", net.batch_norm(net.input("x", {2, kColumns}), layer));
  return read(net.onnx(), kBatch);
}

std::vector<float> contents(const ir::Graph& graph, const std::string& name) {
  for (const ir::Value& value : graph.values) {
    if (value.name != name || !value.data) continue;
    std::vector<float> values(static_cast<size_t>(value.type.elements()));
    EXPECT_TRUE(value.data.read(0, std::as_writable_bytes(std::span(values))));
    return values;
  }
  ADD_FAILURE() << name;
  return {};
}

// The variance that is kept after a step on waves, with a momentum of 1: the batch's alone.
std::vector<float> kept_variance(const BatchNorm& layer) {
  const Result<import::Imported> imported = with(layer);
  EXPECT_TRUE(imported) << to_text(imported.error());
  if (!imported) return {};
  const ir::Graph& graph = imported->graph;
  ir::Feeds feeds;
  for (size_t id = 0; id < graph.values.size(); ++id) {
    const ir::Value& value = graph.values[id];
    if (value.role == ir::Role::kInput) feeds[static_cast<ir::ValueId>(id)] = fed(value.type, 2, 0);
  }
  const Result<ir::Evaluated> run = ir::evaluate(graph, *pt_portable_kernels(), feeds);
  EXPECT_TRUE(run) << to_text(run.error());
  if (!run) return {};
  for (const ir::Value& value : graph.values)
    if (value.name == "bn.running_var" && value.next != ir::kNone) return run->as<float>(value.next);
  ADD_FAILURE() << "no statistics";
  return {};
}

TEST(BatchNormLayer, TheKeptVarianceIsAnEstimateOrTheBatchsOwn) {
  const std::vector<float> estimate = kept_variance({.momentum = 1, .name = "bn"}),
                           own = kept_variance({.momentum = 1, .biased_statistics = true, .name = "bn"});
  ASSERT_EQ(estimate.size(), 2U);
  ASSERT_EQ(own.size(), 2U);
  constexpr float kCount = kBatch * kColumns;
  for (size_t channel = 0; channel < 2; ++channel) {
    EXPECT_GT(own[channel], 0.1F);
    EXPECT_NEAR(estimate[channel], own[channel] * kCount / (kCount - 1), 1e-6);
  }
}

TEST(BatchNormLayer, FirstValuesMayBeChosen) {
  const Result<import::Imported> usual = with({.name = "bn"});
  ASSERT_TRUE(usual) << to_text(usual.error());
  EXPECT_THAT(contents(usual->graph, "bn.weight"), ElementsAre(1, 1));
  EXPECT_THAT(contents(usual->graph, "bn.bias"), ElementsAre(0, 0));
  const Result<import::Imported> chosen =
      with({.initial_weight = Initial::zeros(), .initial_bias = Initial::ones(), .name = "bn"});
  ASSERT_TRUE(chosen) << to_text(chosen.error());
  EXPECT_THAT(contents(chosen->graph, "bn.weight"), ElementsAre(0, 0));
  EXPECT_THAT(contents(chosen->graph, "bn.bias"), ElementsAre(1, 1));
}

}  // namespace
}  // namespace pantoum::layers
