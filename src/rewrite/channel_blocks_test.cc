// A step on blocks of channels computes what it computed before.
#include "rewrite/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "autodiff/autodiff.h"
#include "ir/builder.h"
#include "kernels/portable/layout.h"
#include "testing/evaluate.h"

namespace pantoum::rewrite {
namespace {

using ir::Graph;
using ir::Kind;
using ir::ValueId;

ir::TensorType f32(ir::Shape shape) {
  return {ir::DType::kF32, std::move(shape)};
}

std::vector<std::byte> waves(size_t count, double frequency) {
  std::vector<float> values(count);
  for (size_t at = 0; at < count; ++at)
    values[at] = static_cast<float>(std::sin(frequency * static_cast<double>(at + 1)));
  std::vector<std::byte> bytes(4 * count);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Layers by name, so that every test says what its network is made of.
class Network {
 public:
  Graph graph;
  ir::Builder builder{graph};

  ValueId image(ir::Shape shape) { return builder.input("x", f32(std::move(shape))); }

  ValueId weight(ir::Shape shape) {
    const double frequency = 1.1 + 0.37 * static_cast<double>(++weights_);
    const auto count = static_cast<size_t>(f32(shape).elements());
    return builder.parameter("w" + std::to_string(weights_), f32(std::move(shape)),
                             std::make_shared<const std::vector<std::byte>>(waves(count, frequency)));
  }

  ValueId conv(ValueId x, int64_t outputs, int64_t groups = 1, bool bias = false) {
    const int64_t channels = builder.type(x).shape[1];
    std::vector<ValueId> inputs = {x, weight({outputs, channels / groups, 3, 3})};
    if (bias) inputs.push_back(weight({outputs}));
    return builder.op(Kind::k_conv2d, "conv", inputs, {{1, 1, 1, 1, 1, 1, 1, 1, groups}, {}});
  }

  ValueId norm(ValueId x) {
    const int64_t channels = builder.type(x).shape[1];
    return builder.add(Kind::k_batch_norm, "norm", {x, weight({channels}), weight({channels})}, {{}, {1e-3}})[0];
  }

  ValueId relu(ValueId x) { return builder.op(Kind::k_relu, "relu", {x}); }

  ValueId pool(Kind kind, ValueId x) { return builder.op(kind, "pool", {x}, {{2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 0}, {}}); }

  // Averages over the image, and a product: two classes.
  void head(ValueId x) {
    const ValueId mean = builder.op(Kind::k_reduce_mean, "mean", {x}, {{0b1100}, {}});
    graph.outputs = {builder.op(Kind::k_matmul, "fc", {mean, weight({builder.type(mean).shape[1], 2})}, {{0, 0}, {}})};
    ASSERT_FALSE(builder.error()) << builder.error()->message;
  }

 private:
  int weights_ = 0;
};

// As a back end that has a kernel for everything: few channels, and depthwise ones, in their own layout.
BlockKernels everything(uint32_t block) {
  return {.block = block,
          .weight_layout = [](uint16_t op, const pt_tensor& x, const pt_tensor&, const uint32_t w[4], const int64_t*) {
            if (x.rank == 4 || w[1] == 1) return static_cast<int>(PT_LAYOUT_OHWI_O);
            return static_cast<int>(op == PT_OP_conv2d_dx_nchwc ? PT_LAYOUT_IOHW_OI : PT_LAYOUT_OIHW_IO);
          }};
}

std::map<std::string, std::vector<float>> trained_step(const Graph& graph) {
  ir::Feeds feeds;
  for (const ValueId input : graph.inputs)
    feeds[input] = waves(static_cast<size_t>(graph.value(input).type.elements()), 0.9);
  for (const ValueId label : graph.labels)
    feeds[label].resize(static_cast<size_t>(graph.value(label).type.bytes()));  // class 0
  const auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds, {.scalars = {1, 0, 0.1}});
  EXPECT_TRUE(run.has_value()) << run.error().message;
  std::map<std::string, std::vector<float>> after;
  if (!run) return after;
  for (const ir::Value& value : graph.values)
    if (value.next != ir::kNone) after[value.name] = run->as<float>(value.next);
  after["loss"] = run->as<float>(graph.results[0]);
  return after;
}

int count(const Graph& graph, Kind kind) {
  return static_cast<int>(
      std::count_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) { return op.kind == kind; }));
}

// The training step in blocks; it is sound, and computes what the plain one does.
Graph blocked_and_equal(const Graph& forward, uint32_t block) {
  const auto training = autodiff::make_training(forward, {});
  EXPECT_TRUE(training.has_value()) << training.error().message;
  const Graph blocked = block_channels(*training, everything(block));
  const auto sound = ir::validate(blocked);
  EXPECT_TRUE(sound.has_value()) << sound.error().message << " " << sound.error().where;
  const auto expected = trained_step(*training), found = trained_step(blocked);
  EXPECT_EQ(expected.size(), found.size());
  for (const auto& [name, values] : expected)
    EXPECT_THAT(found.at(name), testing::Pointwise(testing::FloatNear(1e-5F), values)) << name;
  return blocked;
}

TEST(ChannelBlocks, AResidualNetworkHasReordersAtItsEndsAndAtItsWeightsAlone) {
  Network net;
  const ValueId x = net.relu(net.norm(net.conv(net.image({2, 3, 8, 8}), 8)));
  const ValueId sum = net.builder.op(Kind::k_add, "add", {net.norm(net.conv(x, 8)), x});
  net.head(net.pool(Kind::k_max_pool, net.relu(sum)));
  const Graph blocked = blocked_and_equal(net.graph, 4);
  for (const Kind plain : {Kind::k_conv2d, Kind::k_conv2d_dx, Kind::k_conv2d_dw, Kind::k_batch_norm, Kind::k_max_pool})
    EXPECT_EQ(count(blocked, plain), 0) << ir::name_of(plain);
  // Two weights forward, one for the gradient of its image, and two gradients of weights: no image.
  EXPECT_EQ(count(blocked, Kind::k_reorder), 5);
}

TEST(ChannelBlocks, ChannelsThatDoNotFillABlockArePadded) {
  Network net;
  const ValueId x = net.relu(net.conv(net.image({2, 3, 6, 6}), 6, 1, true));
  net.head(net.pool(Kind::k_avg_pool, net.conv(x, 7)));
  const Graph blocked = blocked_and_equal(net.graph, 4);
  EXPECT_EQ(count(blocked, Kind::k_conv2d_nchwc), 2);
}

TEST(ChannelBlocks, ImagesThatWouldBeMostlyPaddingStayPlain) {
  Network net;
  net.head(net.conv(net.relu(net.conv(net.image({2, 3, 6, 6}), 5)), 8));
  const Graph blocked = blocked_and_equal(net.graph, 4);
  const auto relu =
      std::find_if(blocked.ops.begin(), blocked.ops.end(), [](const ir::Op& op) { return op.kind == Kind::k_relu; });
  EXPECT_EQ(blocked.value(relu->outputs[0]).type.shape, (ir::Shape{2, 5, 6, 6}));
}

TEST(ChannelBlocks, OpsThatMakeSomethingOfZeroDoNotSeeThePadding) {
  Network net;
  const ValueId x = net.builder.op(Kind::k_sigmoid, "gate", {net.conv(net.image({2, 3, 6, 6}), 6)});
  net.head(net.conv(net.builder.op(Kind::k_exp, "exp", {x}), 4));
  const Graph blocked = blocked_and_equal(net.graph, 4);
  for (const ir::Op& op : blocked.ops) {
    if (op.kind != Kind::k_sigmoid && op.kind != Kind::k_exp) continue;
    EXPECT_EQ(blocked.value(op.outputs[0]).type.shape.size(), 4U);
  }
}

TEST(ChannelBlocks, DepthwiseAndGroupedConvolutions) {
  Network net;
  const ValueId x = net.conv(net.image({2, 8, 6, 6}), 8, 8);
  net.head(net.conv(net.conv(x, 16, 2), 8, 4));  // 8 / 4 channels a group do not fill a block: stays plain
  const Graph blocked = blocked_and_equal(net.graph, 4);
  EXPECT_EQ(count(blocked, Kind::k_conv2d_nchwc), 2);
  EXPECT_EQ(count(blocked, Kind::k_conv2d), 1);
}

TEST(ChannelBlocks, JoinsSplitsAndGatesBetweenImages) {
  Network net;
  const ValueId x = net.conv(net.image({2, 3, 6, 6}), 8);
  const ValueId joined = net.builder.op(Kind::k_concat, "join", {x, net.relu(net.conv(x, 4))}, {{1}, {}});
  const ValueId mean = net.builder.op(Kind::k_reduce_mean, "squeeze", {joined}, {{0b1100}, {}});
  const ValueId gate = net.builder.reshape(net.builder.op(Kind::k_sigmoid, "gate", {mean}), {2, 12, 1, 1});
  net.head(net.builder.op(Kind::k_mul, "excite", {joined, gate}));
  const Graph blocked = blocked_and_equal(net.graph, 4);
  for (const ir::Op& op : blocked.ops) {
    if (op.name != "join" && op.name != "excite") continue;
    EXPECT_EQ(blocked.value(op.outputs[0]).type.shape, (ir::Shape{2, 3, 6, 6, 4})) << op.name;
  }
}

TEST(ChannelBlocks, WithoutAKernelAStepStaysAsItIs) {
  Network net;
  net.head(net.relu(net.conv(net.image({2, 3, 6, 6}), 8)));
  const auto training = autodiff::make_training(net.graph, {});
  ASSERT_TRUE(training);
  const BlockKernels none{
      .block = 4,
      .weight_layout = [](uint16_t, const pt_tensor&, const pt_tensor&, const uint32_t*, const int64_t*) { return 0; }};
  EXPECT_EQ(ir::to_text(block_channels(*training, none)), ir::to_text(*training));
  EXPECT_EQ(ir::to_text(block_channels(*training, {})), ir::to_text(*training));
}

}  // namespace
}  // namespace pantoum::rewrite
