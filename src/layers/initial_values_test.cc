#include "layers/initial_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "pantoum/layers.hpp"

namespace pantoum::layers {
namespace {

std::vector<float> drawn(const Initial& initial, const Shape& shape, uint64_t seed = 0, const std::string& name = "w") {
  std::vector<float> values(static_cast<size_t>(*count_of(shape, kMostExtent)));
  write_first_values(initial, shape, seed, name, values);
  return values;
}

struct Moments {
  double mean = 0, deviation = 0, least = 0, most = 0;
};

Moments moments(std::span<const float> values) {
  Moments found{0, 0, values[0], values[0]};
  for (const float x : values) {
    found.mean += x / static_cast<double>(values.size());
    found.least = std::min<double>(found.least, x);
    found.most = std::max<double>(found.most, x);
  }
  for (const float x : values)
    found.deviation += (x - found.mean) * (x - found.mean) / static_cast<double>(values.size());
  found.deviation = std::sqrt(found.deviation);
  return found;
}

void expect_uniform(std::span<const float> values, double bound) {
  const Moments found = moments(values);
  const double error = 4 * bound / std::sqrt(static_cast<double>(values.size()));
  EXPECT_LE(std::max(-found.least, found.most), bound * (1 + 1e-6));
  EXPECT_GT(std::min(-found.least, found.most), bound * 0.98);
  EXPECT_NEAR(found.mean, 0, error);
  EXPECT_NEAR(found.deviation, bound / std::sqrt(3.0), error);
}

// The bits are promised: they are the same with every compiler, library and machine.
TEST(InitialValues, AreTheSameEverywhere) {
  EXPECT_THAT(drawn(Initial::uniform(-1, 1), {4}),
              testing::ElementsAre(-0.345176995F, 0.0960189626F, -0.403707504F, -0.42661801F));
  EXPECT_THAT(drawn(Initial::normal(0, 1), {4}),
              testing::ElementsAre(-1.95213807F, -1.00278366F, -0.176752508F, -0.226242959F));
}

TEST(InitialValues, DependOnSeedAndNameAlone) {
  const Initial initial = Initial::uniform(-1, 1);
  EXPECT_EQ(drawn(initial, {8}), drawn(initial, {8}));
  EXPECT_NE(drawn(initial, {8}), drawn(initial, {8}, 1));
  EXPECT_NE(drawn(initial, {8}), drawn(initial, {8}, 0, "v"));
}

TEST(InitialValues, HaveTheirDistribution) {
  expect_uniform(drawn(uniform_within(0.25), {100, 100}), 0.25);
  expect_uniform(drawn(Initial::kaiming_uniform(), {100, 10, 3, 3}), std::sqrt(6.0 / 90));
  expect_uniform(drawn(Initial::xavier_uniform(), {300, 100}), std::sqrt(6.0 / 400));
  const Moments found = moments(drawn(Initial::normal(3, 2), {200, 200}));
  EXPECT_NEAR(found.mean, 3, 0.04);
  EXPECT_NEAR(found.deviation, 2, 0.04);
  EXPECT_GT(found.most, 3 + 2 * 3.3);
  EXPECT_LT(found.least, 3 - 2 * 3.3);
}

TEST(InitialValues, OfANormalDistributionHaveItsShares) {
  const std::vector<float> values = drawn(Initial::normal(0, 1), {400, 100});
  for (const auto& each : std::map<double, double>{{0.5, 0.38292}, {1, 0.68269}, {2, 0.95450}, {3, 0.99730}}) {
    const double limit = each.first, share = each.second;
    const auto inside = std::count_if(values.begin(), values.end(), [&](float x) { return std::abs(x) < limit; });
    EXPECT_NEAR(static_cast<double>(inside) / 40000, share, 4 * std::sqrt(share * (1 - share) / 40000)) << limit;
  }
}

std::map<std::string, std::vector<float>> of_layers() {
  ModelBuilder net("m", {.seed = 7});
  const Tensor image = net.input("image", {8, 6, 6}), text = net.input("text", {4}, DType::i64);
  net.linear(net.flatten(net.conv2d(image, {.channels = 32, .kernel = 3, .groups = 2, .name = "conv"})),
             {.features = 16, .name = "fc"});
  net.conv_transpose2d(image, {.channels = 24, .kernel = 2, .name = "up"});
  net.batch_norm(image, {.name = "bn"});
  const Tensor words = net.embedding(text, {.rows = 100, .columns = 64, .name = "embed"});
  net.lstm(words, {.hidden = 25, .name = "lstm"});
  net.multi_head_attention(words, words, words, {.heads = 4, .name = "attn"});
  net.linear(
      words,
      {.features = 8, .initial_weight = Initial::normal(0, 0.02), .initial_bias = Initial::ones(), .name = "own"});
  EXPECT_TRUE(net.problems().empty());
  std::map<std::string, std::vector<float>> values;
  for (const TensorView& view : net.parameters()) {
    const std::span<const float> elements = view.as<const float>();
    values[std::string(view.name)] = {elements.begin(), elements.end()};
  }
  return values;
}

TEST(InitialValues, OfLayersHavePyTorchsBounds) {
  auto values = of_layers();
  expect_uniform(values["conv.weight"], 1 / std::sqrt(36.0));
  expect_uniform(values["fc.weight"], 1 / std::sqrt(512.0));
  expect_uniform(values["up.weight"], 1 / std::sqrt(96.0));
  expect_uniform(values["lstm.weight_hh_l0"], 1 / 5.0);
  expect_uniform(values["attn.in_proj_weight"], std::sqrt(6.0 / 256));
  expect_uniform(values["attn.out_proj.weight"], 1 / 8.0);
  EXPECT_LE(moments(values["conv.bias"]).most, 1 / 6.0);
  EXPECT_NEAR(moments(values["embed.weight"]).deviation, 1, 0.05);
  EXPECT_NEAR(moments(values["own.weight"]).deviation, 0.02, 0.003);
  for (const char* name : {"bn.bias", "bn.running_mean", "attn.in_proj_bias", "attn.out_proj.bias"})
    EXPECT_THAT(values[name], testing::Each(0.0F)) << name;
  for (const char* name : {"bn.weight", "bn.running_var", "own.bias"})
    EXPECT_THAT(values[name], testing::Each(1.0F)) << name;
}

TEST(InitialValues, AreNotChangedByAnotherLayer) {
  const auto fc = [](bool more) {
    ModelBuilder net;
    const Tensor x = net.input("x", {4});
    if (more) net.linear(x, 9);
    net.linear(x, {.features = 3, .name = "fc"});
    return [&] {
      const auto all = net.parameters().back().as<const float>();
      return std::vector<float>(all.begin(), all.end());
    }();
  };
  EXPECT_EQ(fc(false), fc(true));
}

TEST(InitialValues, MayBeWritten) {
  ModelBuilder net;
  net.output("y", net.linear(net.input("x", {2}), {.features = 1, .bias = false}));
  net.parameters()[0].as<float>()[1] = 42;
  EXPECT_EQ(net.parameters()[0].as<const float>()[1], 42);
}

}  // namespace
}  // namespace pantoum::layers
