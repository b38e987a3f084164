// Gradients of convolutions' inputs and of the activations before them: fused where nobody would miss dX, the same
// bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/op_registry.h"
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

const ir::Attrs kConv{{1, 1, 1, 1, 1, 1, 1, 1, 1}, {}};

struct Activation {
  Kind kind;
  ir::Attrs attrs = {};
};

// conv, activation, conv, activation, .. for all of them.
Graph training(const std::vector<Activation>& activations, bool frozen = false) {
  Graph forward;
  CaseBuilder c(forward, 7);
  ValueId y = c.builder.input("x", f32({2, 3, 7, 6}));
  const auto conv = [&] {
    const ir::Shape weight{3, 3, 3, 3};
    return c.op(Kind::k_conv2d, {y, frozen ? c.frozen(weight) : c.parameter(weight)}, kConv);
  };
  y = c.op(Kind::k_add, {conv(), c.parameter({3, 1, 1})});
  for (const Activation& activation : activations) {
    y = c.op(activation.kind, {y}, activation.attrs);
    y = conv();
  }
  forward.outputs = {y};
  auto graph = autodiff::make_training(forward, {.loss = {{.name = "mse"}}, .optimizer = autodiff::NoOptimizer{}});
  EXPECT_TRUE(graph) << to_text(graph.error());
  return std::move(*graph);
}

auto count(const Graph& graph, Kind kind) {
  return std::count_if(graph.ops.begin(), graph.ops.end(), [&](const ir::Op& op) { return op.kind == kind; });
}

ir::Feeds feeds_of(const Graph& graph) {
  ir::Feeds feeds;
  for (const ValueId id : {graph.inputs[0], graph.labels[0]}) {
    std::vector<float> values(static_cast<size_t>(graph.value(id).type.elements()));
    for (size_t at = 0; at < values.size(); ++at) values[at] = std::sin(static_cast<float>(3 * at + 1));
    feeds[id].resize(4 * values.size());
    std::memcpy(feeds[id].data(), values.data(), 4 * values.size());
  }
  return feeds;
}

// The activations' gradients in the graph are those that the registry says conv2d_dz takes its dX through.
int64_t expect_every_gradient(const Graph& graph) {
  int64_t gradients = 0;
  for (const ir::OpDef& def : ir::all_op_defs()) {
    if (!def.traits.through_convolution) continue;
    EXPECT_EQ(count(graph, def.kind), 1) << "no case for " << def.name;
    ++gradients;
  }
  return gradients;
}

TEST(FuseConvGradient, GivesTheSameBitsForEveryActivationInPlaceToo) {
  const Graph plain = training({{Kind::k_relu},
                                {Kind::k_leaky_relu, {{}, {0.1}}},
                                {Kind::k_sigmoid},
                                {Kind::k_tanh},
                                {Kind::k_gelu, {{1}, {}}},
                                {Kind::k_erf},
                                {Kind::k_elu, {{}, {1, 0.5, 0.7}}},
                                {Kind::k_softplus},
                                {Kind::k_sqrt},
                                {Kind::k_hard_sigmoid, {{}, {0.2, 0.5}}},
                                {Kind::k_hard_swish},
                                {Kind::k_clip, {{}, {-0.5, 0.5}}}});
  const Graph fused = fuse_conv_gradient(plain);
  const auto valid = ir::validate(fused);
  ASSERT_TRUE(valid) << to_text(valid.error());
  EXPECT_EQ(count(fused, Kind::k_conv2d_dz), expect_every_gradient(plain));
  EXPECT_EQ(count(fused, Kind::k_conv2d_dx), 0);
  for (const int in_place : {ir::kNone, 0}) {
    const auto expected = ir::evaluate(plain, *pt_portable_kernels(), feeds_of(plain), {});
    const auto found = ir::evaluate(fused, *pt_portable_kernels(), feeds_of(fused), {.in_place = in_place});
    ASSERT_TRUE(expected && found) << to_text(found.error());
    for (const ValueId gradient : plain.outputs)
      EXPECT_EQ(expected->bytes[static_cast<size_t>(gradient)], found->bytes[static_cast<size_t>(gradient)]);
  }
}

// relu_grad(dx, y), and what else is done with dx and y.
struct Handmade {
  Graph graph;
  CaseBuilder c{graph, 7};
  ValueId y = c.op(Kind::k_relu, {c.parameter({2, 3, 7, 6})}), dy = c.parameter({2, 3, 7, 6}),
          w = c.parameter({3, 3, 3, 3});
  ValueId dx() { return c.op(Kind::k_conv2d_dx, {dy, w}, kConv, {f32({2, 3, 7, 6})}); }
  void expect_untouched(std::vector<ValueId> outputs) {
    graph.outputs = std::move(outputs);
    EXPECT_EQ(ir::to_text(fuse_conv_gradient(graph)), ir::to_text(graph));
  }
};

TEST(FuseConvGradient, LeavesWhatSomebodyElseReads) {
  Handmade read, told, summed;
  ValueId dx = read.dx();
  read.expect_untouched({read.c.op(Kind::k_relu_grad, {dx, read.y}), read.c.op(Kind::k_neg, {dx})});
  dx = told.dx();
  told.expect_untouched({told.c.op(Kind::k_relu_grad, {dx, told.y}), dx});
  dx = summed.c.op(Kind::k_add, {summed.dx(), summed.dx()});
  summed.expect_untouched({summed.c.op(Kind::k_relu_grad, {dx, summed.y})});
}

TEST(FuseConvGradient, LeavesAnotherShapeAndWhatTheConvolutionReads) {
  Handmade flat, same;
  const ir::TensorType rows = f32({2, 126});
  const ValueId dx = flat.c.op(Kind::k_alias, {flat.dx()}, {}, {rows});
  flat.expect_untouched({flat.c.op(Kind::k_relu_grad, {dx, flat.c.op(Kind::k_alias, {flat.y}, {}, {rows})})});
  same.expect_untouched({same.c.op(Kind::k_relu_grad, {same.dx(), same.dy}), same.y});
}

TEST(FuseConvGradient, LeavesTheChoiceOfCompactActivations) {
  const Graph graph = compact_activations(training({{Kind::k_relu}, {Kind::k_tanh}}, true));
  const Graph fused = fuse_conv_gradient(graph);
  EXPECT_EQ(count(fused, Kind::k_relu_grad), 1);
  EXPECT_EQ(count(fused, Kind::k_conv2d_dz), 1);
  EXPECT_TRUE(ir::validate(fused));
}

}  // namespace
}  // namespace pantoum::rewrite
