// Convolutions and products with what follows them in one op: the bits of the ops apart, forward and in training, plain and
// in blocks, in no more RAM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

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
using ir::Graph;
using ir::Kind;
using ir::Op;
using ir::ValueId;

struct EpilogueNetwork {
  explicit EpilogueNetwork(uint32_t seed) : c(graph, seed) {}
  Graph graph;
  CaseBuilder c;

  ValueId input(ir::Shape shape) { return c.builder.input("x", autodiff::f32(std::move(shape))); }
  int64_t channels(ValueId x) { return c.builder.type(x).shape[1]; }
  ValueId conv(ValueId x, int64_t outputs, int64_t kernel = 3, bool bias = true, int64_t groups = 1) {
    std::vector<ValueId> inputs = {x, c.parameter({outputs, channels(x) / groups, kernel, kernel})};
    if (bias) inputs.push_back(c.parameter({outputs}));
    const int64_t pad = kernel / 2;
    return c.op(Kind::k_conv2d, inputs, {{1, 1, pad, pad, pad, pad, 1, 1, groups}, {}});
  }
  // x W, or x W' where it lies turned, of the last dimension.
  ValueId dense(ValueId x, int64_t outputs, bool bias = true, bool turned = false) {
    const int64_t inputs = c.builder.type(x).shape.back();
    std::vector<ValueId> operands = {x, c.parameter(turned ? ir::Shape{outputs, inputs} : ir::Shape{inputs, outputs})};
    if (bias) operands.push_back(c.parameter({outputs}));
    return c.op(Kind::k_matmul, operands, {{0, turned ? 1 : 0}, {}});
  }
  ValueId act(Kind kind, ValueId x) {
    const std::map<Kind, ir::Attrs> attrs = {{Kind::k_leaky_relu, {{}, {0.1}}},
                                             {Kind::k_clip, {{}, {0, 1.5}}},
                                             {Kind::k_gelu, {{0}, {}}},
                                             {Kind::k_hard_sigmoid, {{}, {0.2, 0.5}}}};
    const auto found = attrs.find(kind);
    return c.op(kind, {x}, found == attrs.end() ? ir::Attrs{} : found->second);
  }
  ValueId relu(ValueId x) { return act(Kind::k_relu, x); }
  ValueId sum(ValueId a, ValueId b) { return c.op(Kind::k_add, {a, b}); }

  Graph finished(ValueId x) {
    const ValueId mean = c.op(Kind::k_reduce_mean, {x}, {{0b1100}, {}});
    graph.outputs = {c.op(Kind::k_matmul, {mean, c.parameter({channels(mean), 3})}, {{0, 0}, {}})};
    return graph;
  }
  // Of rows of any rank.
  Graph ended(ValueId x) {
    const int64_t mask = (int64_t{1} << (c.builder.type(x).shape.size() - 1)) - 2;
    graph.outputs = {dense(mask == 0 ? x : c.op(Kind::k_reduce_mean, {x}, {{mask}, {}}), 3, false)};
    return graph;
  }
};

Graph step_of(const Graph& forward) {
  auto graph = autodiff::make_training(forward, {});
  EXPECT_TRUE(graph) << to_text(graph.error());
  return graph ? *std::move(graph) : Graph{};
}

// By name: what a run leaves behind, and its outputs.
std::map<std::string, std::vector<std::byte>> results_of(const Graph& graph, int in_place = ir::kNone) {
  ir::Feeds feeds;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const auto* list : {&graph.inputs, &graph.labels})
    for (const ValueId id : *list) {
      std::vector<std::byte>& bytes = feeds[id];
      bytes.resize(static_cast<size_t>(graph.value(id).type.bytes()));
      for (size_t at = 0; graph.value(id).type.dtype == ir::DType::kF32 && at < bytes.size(); at += 4) {
        const float value = normal(random);
        std::memcpy(bytes.data() + at, &value, 4);
      }
    }
  const auto run = ir::evaluate(graph, *pt_portable_kernels(), feeds, {.scalars = {1, 0, 0.1}, .in_place = in_place});
  EXPECT_TRUE(run) << to_text(run.error());
  std::map<std::string, std::vector<std::byte>> made;
  if (!run) return made;
  const auto bytes = [&](ValueId id) { return run->bytes[static_cast<size_t>(id)]; };
  for (const ir::Value& value : graph.values)
    if (value.next != ir::kNone) made[value.name] = bytes(value.next);
  for (size_t at = 0; at < graph.outputs.size(); ++at) made["output " + std::to_string(at)] = bytes(graph.outputs[at]);
  for (size_t at = 0; at < graph.results.size(); ++at) made["result " + std::to_string(at)] = bytes(graph.results[at]);
  return made;
}

BlockKernels blocks_of_four() {
  return {.block = 4,
          .weight_layout = [](uint16_t op, const pt_tensor& x, const pt_tensor&, const uint32_t w[4], const int64_t*) {
            if (x.rank == 4 || w[1] == 1) return static_cast<int>(PT_LAYOUT_OHWI_O);
            return static_cast<int>(op == PT_OP_conv2d_dx_nchwc ? PT_LAYOUT_IOHW_OI : PT_LAYOUT_OIHW_IO);
          }};
}

ir::Bytes peak_of(const Graph& graph) {
  const std::vector<ir::Bytes> live = unplanned_bytes(graph);
  return *std::max_element(live.begin(), live.end());
}

// The fused graph: sound, of the same bits (in place and in blocks too), and of no more RAM.
Graph fused_alike(const Graph& graph, bool by_back_end = false) {
  Graph made = fuse_epilogues(graph, by_back_end);
  const auto valid = ir::validate(made);
  EXPECT_TRUE(valid) << to_text(valid.error());
  if (!valid) return made;
  const auto expected = results_of(graph);
  EXPECT_EQ(results_of(made), expected);
  for (const int in_place : {0, 1}) EXPECT_EQ(results_of(made, in_place), expected);
  EXPECT_LE(peak_of(made), peak_of(graph));
  const Graph for_blocks = fuse_epilogues(graph, true);
  EXPECT_LE(peak_of(for_blocks), peak_of(graph));
  const Graph blocked = block_channels(for_blocks, blocks_of_four());
  EXPECT_TRUE(ir::validate(blocked));
  EXPECT_EQ(results_of(blocked), results_of(block_channels(graph, blocks_of_four())));
  return made;
}

std::vector<Op> of_kind(const Graph& graph, Kind kind) {
  std::vector<Op> found;
  std::ranges::copy_if(graph.ops, std::back_inserter(found), [kind](const Op& op) { return op.kind == kind; });
  return found;
}
size_t number_of(const Graph& graph, Kind kind) {
  return of_kind(graph, kind).size();
}
int64_t epilogue_int(const Op& op, int which) {
  return op.attrs.ints[op.attrs.ints.size() - PT_EPILOGUE_ATTRS + static_cast<size_t>(which)];
}
int64_t activation_of(const Op& op) {
  return epilogue_int(op, PT_EPILOGUE_ACTIVATION);
}
int64_t residual_of(const Op& op) {
  return epilogue_int(op, PT_EPILOGUE_RESIDUAL);
}

TEST(EpilogueFusions, ABlockOfAResidualNetworkIsTwoOps) {
  EpilogueNetwork n(1);
  const ValueId x = n.relu(n.input({2, 8, 6, 6}));
  const Graph graph = n.finished(n.relu(n.sum(n.conv(n.relu(n.conv(x, 8)), 8), x)));
  const Graph fused = fused_alike(graph);
  const std::vector<Op> made = of_kind(fused, Kind::k_conv2d_act);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(number_of(fused, Kind::k_add), 0u);
  EXPECT_EQ(number_of(fused, Kind::k_relu), 1u);
  EXPECT_EQ(residual_of(made[0]), PT_RESIDUAL_NONE);
  EXPECT_EQ(residual_of(made[1]), PT_RESIDUAL_OVER);
  EXPECT_EQ(ir::in_place_pairs(fused, made[1]), (std::vector<std::pair<int, int>>{{0, 3}}));
}

TEST(EpilogueFusions, WhatTheConvolutionReadsItselfIsNotWrittenOver) {
  EpilogueNetwork n(2);
  const ValueId x = n.relu(n.input({2, 4, 5, 5}));
  const ValueId same = n.c.op(Kind::k_alias, {x}, {}, {n.c.builder.type(x)});
  const Graph fused = fused_alike(n.finished(n.sum(n.conv(x, 4), same)));
  const std::vector<Op> made = of_kind(fused, Kind::k_conv2d_act);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(activation_of(made[0]), 0);
  EXPECT_EQ(residual_of(made[0]), PT_RESIDUAL_READ);
  EXPECT_TRUE(ir::in_place_pairs(fused, made[0]).empty());
}

TEST(EpilogueFusions, OfASumOfTwoConvolutionsTheLastTakesTheOther) {
  EpilogueNetwork n(3);
  const ValueId x = n.relu(n.input({2, 4, 5, 5}));
  const Graph fused = fused_alike(n.finished(n.relu(n.sum(n.conv(x, 8, 1), n.conv(n.relu(n.conv(x, 8)), 8)))));
  EXPECT_EQ(number_of(fused, Kind::k_conv2d), 1u);
  EXPECT_EQ(number_of(fused, Kind::k_conv2d_act), 2u);
}

TEST(EpilogueFusions, WhatOthersReadStays) {
  EpilogueNetwork n(4);
  const ValueId x = n.relu(n.input({2, 4, 5, 5})), one = n.conv(x, 4), other = n.conv(x, 4), last = n.conv(x, 4);
  n.relu(last);
  n.graph.outputs = {last};
  const ValueId twice = n.sum(n.relu(one), n.c.op(Kind::k_sigmoid, {one}));
  const ValueId itself = n.sum(other, other), row = n.sum(n.conv(x, 4), n.c.parameter({4, 1, 1}));
  const Graph graph = n.finished(n.sum(twice, n.sum(itself, row)));
  const Graph fused = fused_alike(graph);
  EXPECT_EQ(number_of(fused, Kind::k_conv2d_act), 0u);
}

TEST(EpilogueFusions, InTrainingOnlyWhatItsGradientCanDoWithout) {
  for (const auto& [kind, fuses] : std::map<Kind, bool>{{Kind::k_relu, true},
                                                        {Kind::k_clip, true},
                                                        {Kind::k_leaky_relu, true},
                                                        {Kind::k_sigmoid, true},
                                                        {Kind::k_tanh, true},
                                                        {Kind::k_gelu, false},
                                                        {Kind::k_softplus, false},
                                                        {Kind::k_hard_swish, false},
                                                        {Kind::k_hard_sigmoid, false}}) {
    EpilogueNetwork n(5);
    const Graph forward = n.finished(n.act(kind, n.conv(n.relu(n.input({2, 4, 5, 5})), 8)));
    EXPECT_EQ(number_of(fused_alike(forward), Kind::k_conv2d_act), 1u) << ir::name_of(kind);
    EXPECT_EQ(number_of(fused_alike(step_of(forward)), Kind::k_conv2d_act), fuses ? 1u : 0u) << ir::name_of(kind);
  }
}

TEST(EpilogueFusions, ALeakyReluWhoseSlopeIsNotToldStaysInTraining) {
  EpilogueNetwork n(6);
  const ValueId x = n.conv(n.relu(n.input({2, 4, 5, 5})), 8);
  const Graph forward = n.finished(n.c.op(Kind::k_leaky_relu, {x}, {{}, {-0.5}}));
  EXPECT_EQ(number_of(fused_alike(forward), Kind::k_conv2d_act), 1u);
  EXPECT_EQ(number_of(fused_alike(step_of(forward)), Kind::k_conv2d_act), 0u);
}

TEST(EpilogueFusions, ABackEndFinishesWhatItHasTheBitsOf) {
  for (const auto& [kind, fuses] : std::map<Kind, bool>{
           {Kind::k_relu, true}, {Kind::k_hard_swish, true}, {Kind::k_sigmoid, false}, {Kind::k_gelu, false}}) {
    EpilogueNetwork n(7);
    const ValueId x = n.relu(n.input({2, 4, 5, 5})), other = n.relu(x);
    const Graph graph = n.finished(n.act(kind, n.sum(n.conv(x, 4), other)));
    const std::vector<Op> made = of_kind(fused_alike(graph, true), Kind::k_conv2d_act);
    ASSERT_EQ(made.size(), 1u);
    EXPECT_EQ(activation_of(made[0]) != 0, fuses) << ir::name_of(kind);
    EXPECT_EQ(residual_of(made[0]), PT_RESIDUAL_READ);
  }
}

TEST(EpilogueFusions, WhatIsAddedLaterStaysASum) {
  EpilogueNetwork n(9);
  const ValueId x = n.relu(n.input({2, 4, 5, 5})), y = n.conv(x, 4), later = n.relu(x);
  const Graph made = fused_alike(n.finished(n.act(Kind::k_relu, n.sum(y, later))));
  EXPECT_TRUE(of_kind(made, Kind::k_conv2d_act).empty());
}

TEST(EpilogueFusions, ALayerOfAPerceptronIsOneOp) {
  EpilogueNetwork n(10);
  const Graph forward = n.ended(n.relu(n.dense(n.relu(n.dense(n.input({4, 6}), 8)), 5, true, true)));
  for (const Graph& graph : {forward, step_of(forward)}) {
    const Graph fused = fused_alike(graph);
    const std::vector<Op> made = of_kind(fused, Kind::k_matmul_act);
    ASSERT_EQ(made.size(), 2u);
    EXPECT_EQ(number_of(fused, Kind::k_relu), 0u);
    EXPECT_EQ(activation_of(made[0]), PT_OP_relu);
    EXPECT_EQ(made[0].inputs.size(), 3u);
    EXPECT_EQ(number_of(fused_alike(graph, true), Kind::k_matmul_act), 2u);
  }
}

TEST(EpilogueFusions, ABlockOfATransformerWritesItsSumOverWhatIsAdded) {
  EpilogueNetwork n(11);
  const ValueId x = n.relu(n.input({2, 5, 6}));
  const Graph fused = fused_alike(n.ended(n.sum(x, n.dense(n.relu(n.dense(x, 24)), 6))));
  const std::vector<Op> made = of_kind(fused, Kind::k_matmul_act);
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(residual_of(made[1]), PT_RESIDUAL_OVER);
  EXPECT_EQ(ir::in_place_pairs(fused, made[1]), (std::vector<std::pair<int, int>>{{0, 3}}));
}

TEST(EpilogueFusions, AProductThatIsAddedToWhatItReadsIsNotWrittenOverIt) {
  EpilogueNetwork n(12);
  const ValueId x = n.relu(n.input({4, 6}));
  const std::vector<Op> made = of_kind(fused_alike(n.ended(n.sum(n.dense(x, 6), x))), Kind::k_matmul_act);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(residual_of(made[0]), PT_RESIDUAL_READ);
}

TEST(EpilogueFusions, ProductsOfStacksFuseAndVectorsThatAreAddedStay) {
  EpilogueNetwork n(13);
  const ValueId x = n.relu(n.input({2, 3, 4, 5})), y = n.c.op(Kind::k_matmul, {x, x}, {{0, 1}, {}});
  const ValueId row = n.sum(n.dense(y, 4, false), n.c.parameter({4}));
  const Graph fused = fused_alike(n.ended(n.relu(n.c.op(Kind::k_matmul, {row, x}, {{1, 0}, {}}))));
  const std::vector<Op> made = of_kind(fused, Kind::k_matmul_act);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].attrs.ints[PT_MATMUL_TRANS_A], 1);
  EXPECT_EQ(number_of(fused, Kind::k_add), 1u);
}

// What a product reads is not kept until what follows it stands in the order of the graph.
TEST(EpilogueFusions, NothingWaitsForAnActivationThatComesLate) {
  EpilogueNetwork n(14);
  const ValueId x = n.input({4, 6}), wide = n.relu(n.dense(x, 200, false)), narrow = n.dense(wide, 6, false);
  const ValueId other = n.dense(n.act(Kind::k_tanh, n.dense(x, 200, false)), 6, false);
  const Graph fused = fused_alike(n.ended(n.sum(n.relu(narrow), n.relu(other))));
  EXPECT_EQ(number_of(fused, Kind::k_matmul_act), 4u);
}

TEST(EpilogueFusions, RandomPerceptronsHaveTheSameBits) {
  size_t fused = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    EpilogueNetwork n(seed + 200);
    std::mt19937 random(seed);
    const auto draw = [&](size_t most) { return random() % most; };
    std::vector<ValueId> all = {n.relu(n.input(draw(2) == 0 ? ir::Shape{4, 6} : ir::Shape{2, 3, 6}))}, late;
    const Kind kinds[] = {Kind::k_relu,    Kind::k_leaky_relu, Kind::k_clip, Kind::k_gelu,
                          Kind::k_sigmoid, Kind::k_hard_swish, Kind::k_tanh, Kind::k_softplus};
    for (int layer = 0; layer < 7; ++layer) {
      const ValueId x = all[draw(3) == 0 ? draw(all.size()) : all.size() - 1];
      ValueId y = n.dense(x, draw(3) == 0 ? 9 : 6, draw(2) == 0, draw(2) == 0);
      const ValueId other = all[draw(all.size())];
      if (draw(2) == 0 && n.c.builder.type(other) == n.c.builder.type(y))
        y = draw(2) == 0 ? n.sum(y, other) : n.sum(other, y);
      if (draw(4) == 0)
        late.push_back(y);
      else
        all.push_back(draw(4) != 0 ? n.act(kinds[draw(std::size(kinds))], y) : y);
    }
    for (const ValueId id : late) all.push_back(n.act(kinds[draw(std::size(kinds))], id));
    ValueId end = all.back();
    for (const ValueId id : all)
      if (id != end && n.c.builder.type(id) == n.c.builder.type(end)) end = n.sum(end, id);
    const Graph forward = n.ended(end);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    fused += number_of(fused_alike(forward), Kind::k_matmul_act);
    fused += number_of(fused_alike(step_of(forward)), Kind::k_matmul_act);
  }
  EXPECT_GT(fused, 300u);
}

TEST(EpilogueFusions, RandomNetworksHaveTheSameBits) {
  size_t fused = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    EpilogueNetwork n(seed + 100);
    std::mt19937 random(seed);
    const auto draw = [&](size_t most) { return random() % most; };
    std::vector<ValueId> all = {n.relu(n.input({2, 4 + 4 * static_cast<int64_t>(draw(2)), 6, 5}))};
    const Kind kinds[] = {Kind::k_relu,       Kind::k_leaky_relu, Kind::k_clip,        Kind::k_gelu,
                          Kind::k_hard_swish, Kind::k_tanh,       Kind::k_hard_sigmoid};
    for (int layer = 0; layer < 7; ++layer) {
      const ValueId x = all[draw(3) == 0 ? draw(all.size()) : all.size() - 1];
      const int64_t outputs = draw(3) == 0 ? 6 : 8, groups = draw(3) == 0 ? 2 : 1;
      ValueId y = n.conv(x, outputs, draw(2) == 0 ? 1 : 3, draw(2) == 0, groups);
      const ValueId other = all[draw(all.size())];
      if (draw(2) == 0 && n.channels(other) == outputs) y = draw(2) == 0 ? n.sum(y, other) : n.sum(other, y);
      if (draw(4) != 0) y = n.act(kinds[draw(std::size(kinds))], y);
      all.push_back(y);
    }
    ValueId end = all.back();
    for (const ValueId id : all)
      if (id != end && n.channels(id) == n.channels(end)) end = n.sum(end, id);
    const Graph forward = n.finished(end);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    fused += number_of(fused_alike(forward), Kind::k_conv2d_act);
    fused += number_of(fused_alike(step_of(forward)), Kind::k_conv2d_act);
  }
  EXPECT_GT(fused, 200u);
}

}  // namespace
}  // namespace pantoum::rewrite
