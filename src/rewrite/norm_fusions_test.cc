// Norms and activations in one op, and what backward reads of them made again: the same bits in less RAM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "autodiff/autodiff.h"
#include "ir/builder.h"
#include "ir/op_registry.h"
#include "kernels/portable/layout.h"
#include "rewrite/passes.h"
#include "testing/evaluate.h"
#include "testing/gradient_cases.h"

namespace pantoum::rewrite {
namespace {

using autodiff::CaseBuilder;
using autodiff::f32;
using ir::Graph;
using ir::Kind;
using ir::ValueId;

// Layers of a network with random parameters.
class NormNetwork {
 public:
  explicit NormNetwork(uint32_t seed) : c(graph, seed) {}
  Graph graph;
  CaseBuilder c;

  ValueId input(ir::Shape shape) { return c.builder.input("x", f32(std::move(shape))); }
  int64_t channels(ValueId x) { return c.builder.type(x).shape[1]; }

  ValueId conv(ValueId x, int64_t outputs, int64_t kernel, int64_t groups = 1, int64_t stride = 1) {
    const ValueId w = c.parameter({outputs, channels(x) / groups, kernel, kernel});
    const int64_t pad = kernel / 2;
    return c.op(Kind::k_conv2d, {x, w}, {{stride, stride, pad, pad, pad, pad, 1, 1, groups}, {}});
  }
  std::vector<ValueId> norm_with_statistics(ValueId x) {
    const ir::Shape of{channels(x)};
    return c.ops(Kind::k_batch_norm, {x, c.parameter(of), c.parameter(of)}, {{}, {1e-3}});
  }
  ValueId norm(ValueId x) { return norm_with_statistics(x)[0]; }
  ValueId relu(ValueId x) { return c.op(Kind::k_relu, {x}); }
  ValueId relu6(ValueId x) { return c.op(Kind::k_clip, {x}, {{}, {0, 6}}); }
  ValueId leaky(ValueId x) { return c.op(Kind::k_leaky_relu, {x}, {{}, {0.1}}); }
  ValueId block(ValueId x, int64_t outputs, int64_t kernel = 3) { return relu(norm(conv(x, outputs, kernel))); }
  ValueId residual(ValueId x) {
    return relu(c.op(Kind::k_add, {norm(conv(block(x, channels(x)), channels(x), 3)), x}));
  }
  ValueId pool(ValueId x) { return c.op(Kind::k_max_pool, {x}, {{2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0}, {}}); }

  Graph finished(ValueId x) {
    const ValueId mean = c.op(Kind::k_reduce_mean, {x}, {{0b1100}, {}});
    graph.outputs = {c.op(Kind::k_matmul, {mean, c.parameter({channels(mean), 3})}, {{0, 0}, {}})};
    return graph;
  }
};

Graph training_of(const Graph& forward, const autodiff::TrainingOptions& options = {}) {
  auto graph = autodiff::make_training(forward, options);
  EXPECT_TRUE(graph) << to_text(graph.error());
  return graph ? *std::move(graph) : Graph{};
}

std::vector<std::byte> drawn(const ir::TensorType& type, uint32_t seed) {
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
  if (type.dtype != ir::DType::kF32) return bytes;
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (size_t at = 0; at < bytes.size(); at += 4) {
    const float value = normal(random);
    std::memcpy(bytes.data() + at, &value, 4);
  }
  return bytes;
}

// What the step leaves behind, by name: parameters, statistics, state; loss and outputs.
std::map<std::string, std::vector<std::byte>> left_behind(const Graph& graph, int in_place = ir::kNone) {
  ir::Feeds feeds;
  uint32_t seed = 3;
  for (const auto* list : {&graph.inputs, &graph.labels})
    for (const ValueId id : *list) feeds[id] = drawn(graph.value(id).type, ++seed);
  const auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds, {.scalars = {1, 0, 0.1}, .in_place = in_place});
  EXPECT_TRUE(run) << to_text(run.error());
  std::map<std::string, std::vector<std::byte>> left;
  if (!run) return left;
  for (const ir::Value& value : graph.values)
    if (value.next != ir::kNone) left[value.name] = run->bytes[static_cast<size_t>(value.next)];
  for (const auto* list : {&graph.outputs, &graph.results})
    for (size_t at = 0; at < list->size(); ++at)
      left["output " + std::to_string(list == &graph.results) + std::to_string(at)] =
          run->bytes[static_cast<size_t>((*list)[at])];
  return left;
}

Graph rewritten(const Graph& graph) {
  return remake_activations(fuse_norm_activation(graph));
}

ir::Bytes most_of(const Graph& graph) {
  const std::vector<ir::Bytes> live = unplanned_bytes(graph);
  return *std::max_element(live.begin(), live.end());
}

auto count(const Graph& graph, Kind kind) {
  return std::count_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) { return op.kind == kind; });
}

BlockKernels blocks_of(uint32_t block) {
  return {.block = block,
          .weight_layout = [](uint16_t op, const pt_tensor& x, const pt_tensor&, const uint32_t w[4], const int64_t*) {
            if (x.rank == 4 || w[1] == 1) return static_cast<int>(PT_LAYOUT_OHWI_O);
            return static_cast<int>(op == PT_OP_conv2d_dx_nchwc ? PT_LAYOUT_IOHW_OI : PT_LAYOUT_OIHW_IO);
          }};
}

// The rewritten step: sound, of the same bits (in place and in blocks too), and of no more RAM.
Graph same_bits_in_less(const Graph& graph) {
  Graph made = rewritten(graph);
  const auto valid = ir::validate(made);
  EXPECT_TRUE(valid) << to_text(valid.error());
  if (!valid) return made;
  const auto expected = left_behind(graph);
  EXPECT_EQ(left_behind(made), expected);
  EXPECT_EQ(left_behind(made, 0), expected);
  EXPECT_EQ(left_behind(block_channels(made, blocks_of(4))), left_behind(block_channels(graph, blocks_of(4))));
  EXPECT_LE(most_of(made), most_of(graph));
  return made;
}

TEST(NormFusions, OfAConvolutionANormAndAnActivationOneImageIsKept) {
  NormNetwork net(1);
  ValueId x = net.input({4, 3, 12, 12});
  for (int layer = 0; layer < 6; ++layer) x = net.block(x, 8);
  const Graph graph = training_of(net.finished(x)), made = same_bits_in_less(graph);
  EXPECT_EQ(count(made, Kind::k_batch_norm_act), 6);
  EXPECT_EQ(count(made, Kind::k_batch_norm_act_grad), 6);
  EXPECT_EQ(count(made, Kind::k_batch_norm_act_eval), 5);  // the last image is read by its mean alone
  for (const Kind gone : {Kind::k_batch_norm, Kind::k_batch_norm_grad, Kind::k_relu, Kind::k_relu_grad})
    EXPECT_EQ(count(made, gone), 0) << ir::name_of(gone);
  EXPECT_LE(static_cast<double>(most_of(made)), 0.7 * static_cast<double>(most_of(graph)));
}

TEST(NormFusions, ResidualBlocksAreMadeAgainFromTheirConvolutions) {
  NormNetwork net(2);
  ValueId x = net.block(net.input({4, 3, 10, 10}), 8);
  for (int block = 0; block < 3; ++block) x = net.residual(x);
  const Graph graph = training_of(net.finished(x)), made = same_bits_in_less(graph);
  EXPECT_LE(static_cast<double>(most_of(made)), 0.75 * static_cast<double>(most_of(graph)));
}

TEST(NormFusions, EveryActivationThatANormKnows) {
  NormNetwork net(3);
  ValueId x = net.relu6(net.norm(net.conv(net.input({2, 3, 6, 6}), 8, 3)));
  x = net.leaky(net.norm(net.conv(x, 8, 3, 8)));
  x = net.relu(net.norm(net.conv(x, 12, 1)));
  const Graph made = same_bits_in_less(training_of(net.finished(x)));
  std::set<int64_t> known;
  for (const ir::Op& op : made.ops)
    if (op.kind == Kind::k_batch_norm_act) known.insert(op.attrs.ints[PT_NORM_ACTIVATION]);
  std::set<int64_t> all;
#define PT_ACTIVATION(name) all.insert(PT_OP_##name);
  PT_NORM_ACTIVATIONS(PT_ACTIVATION)
#undef PT_ACTIVATION
  EXPECT_EQ(known, all);
}

TEST(NormFusions, WhatSomebodyElseReadsStays) {
  NormNetwork net(4);
  const ValueId normalized = net.norm(net.conv(net.input({2, 3, 6, 6}), 4, 3));
  const ValueId sum = net.c.op(Kind::k_add, {net.relu(normalized), normalized});
  const Graph made = same_bits_in_less(training_of(net.finished(net.conv(sum, 4, 3))));
  EXPECT_EQ(count(made, Kind::k_batch_norm_act), 0);
  EXPECT_EQ(count(made, Kind::k_batch_norm_act_grad), 0);  // two gradients are added up
}

TEST(NormFusions, OutputsOfTheModelAreNotMadeAgain) {
  NormNetwork net(5);
  const ValueId normalized = net.norm(net.conv(net.input({2, 3, 6, 6}), 4, 3)), x = net.relu(normalized);
  Graph graph = training_of(net.finished(net.conv(net.block(x, 4), 4, 3)));
  graph.outputs = {x, normalized};
  const Graph made = same_bits_in_less(graph);
  EXPECT_EQ(made.outputs, graph.outputs);
  EXPECT_EQ(count(made, Kind::k_relu), 1);
}

TEST(NormFusions, FrozenParameters) {
  NormNetwork net(6);
  ValueId x = net.input({2, 3, 8, 8});
  for (int layer = 0; layer < 3; ++layer) x = net.block(x, 8);
  Graph forward = net.finished(x);
  for (ir::Value& value : forward.values)
    if (value.role == ir::Role::kParameter && value.type.shape.size() == 1) value.trainable = false;
  same_bits_in_less(training_of(forward));
}

TEST(NormFusions, FrozenStatisticsAreReadInPlaceOfTheBatchs) {
  NormNetwork net(7);
  ValueId x = net.input({2, 3, 8, 8});
  for (int layer = 0; layer < 4; ++layer) {
    const ValueId y = net.conv(x, 8, 3), var = net.c.op(Kind::k_exp, {net.c.frozen({8})});
    const ValueId scale = layer == 1 ? net.c.parameter({8}) : net.c.frozen({8});
    x = net.relu(
        net.c.op(Kind::k_batch_norm_eval, {y, scale, net.c.parameter({8}), net.c.frozen({8}), var}, {{}, {1e-3}}));
  }
  const Graph made = same_bits_in_less(training_of(net.finished(x)));
  EXPECT_GE(count(made, Kind::k_batch_norm_act_eval), 4);
}

TEST(NormFusions, EvaluationTakesOnePassLess) {
  Graph graph;
  CaseBuilder c(graph, 8);
  const ValueId x = c.builder.input("x", f32({2, 4, 5, 5}));
  const ValueId y = c.op(Kind::k_batch_norm_eval,
                         {x, c.parameter({4}), c.parameter({4}), c.parameter({4}), c.positive({4})}, {{}, {1e-3}});
  graph.outputs = {c.op(Kind::k_relu, {y})};
  const Graph made = rewritten(graph);
  ASSERT_TRUE(ir::validate(made));
  EXPECT_EQ(made.ops.size(), 1U);
  EXPECT_EQ(left_behind(made), left_behind(graph));
}

TEST(NormFusions, AStepWithoutNormsStaysAsItIs) {
  NormNetwork net(9);
  const ValueId x = net.relu(net.conv(net.input({2, 3, 6, 6}), 4, 3));
  const Graph graph = training_of(net.finished(net.relu(net.conv(x, 4, 3))));
  EXPECT_EQ(ir::to_text(rewritten(graph)), ir::to_text(graph));
}

// Layers in random order: images of one pixel, one sample, odd channels, groups, branches that join, several readers.
ValueId random_layer(NormNetwork& net, std::mt19937& random, std::vector<ValueId>& made) {
  const auto draw = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<uint32_t>(most - least + 1));
  };
  const ValueId x = made[made.size() - 1 - random() % std::min<size_t>(made.size(), 3)];
  const int64_t channels = net.channels(x);
  switch (random() % 9) {
    case 0:
      return net.block(x, draw(1, 9), 1);
    case 1:
      return net.relu6(net.norm(net.conv(x, channels, 3, channels)));
    case 2:
      return net.residual(x);
    case 3:
      return net.leaky(net.norm(net.conv(x, draw(1, 9), 3)));
    case 4:
      return net.norm(x);
    case 5:
      return net.relu(x);
    case 6: {
      const ValueId a = net.block(x, draw(1, 4)), b = net.block(x, draw(1, 4), 1);
      return net.c.op(Kind::k_concat, {a, b}, {{1}, {}});
    }
    case 7: {
      const ir::Shape& shape = net.c.builder.type(x).shape;
      return shape[2] >= 2 && shape[3] >= 2 ? net.pool(x) : net.c.op(Kind::k_sigmoid, {x});
    }
    default:
      return net.c.op(Kind::k_add, {net.norm(x), net.norm(net.conv(x, channels, 3))});
  }
}

TEST(NormFusions, RandomNetworksKeepTheirBits) {
  int smaller = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    NormNetwork net(seed + 100);
    const auto draw = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % static_cast<uint32_t>(most)); };
    const int64_t side = seed % 4 == 0 ? 1 : draw(8);
    std::vector<ValueId> made = {net.conv(net.input({draw(3), draw(3), side, draw(side)}), draw(9), 3)};
    for (int layer = 0; layer < 7; ++layer) made.push_back(random_layer(net, random, made));
    SCOPED_TRACE(seed);
    const Graph graph = training_of(net.finished(made.back()));
    smaller += most_of(same_bits_in_less(graph)) < most_of(graph);
  }
  EXPECT_GT(smaller, 30);
}

TEST(UnplannedBytes, CountsWhatIsReadLaterAndWhatIsWrittenInPlaceOnce) {
  Graph graph;
  CaseBuilder c(graph, 1);
  const ValueId x = c.builder.input("x", f32({256}));
  const ValueId a = c.op(Kind::k_neg, {x}), b = c.op(Kind::k_neg, {a}), d = c.op(Kind::k_exp, {b});
  graph.outputs = {c.op(Kind::k_add, {d, b})};
  EXPECT_THAT(unplanned_bytes(graph), testing::ElementsAre(1024, 1024, 2048, 2048));
}

}  // namespace
}  // namespace pantoum::rewrite
