// Compact activations: offered where they help, and every alternative gives the bits of the op that it stands for.
#include "rewrite/passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ir/op_registry.h"
#include "testing/evaluate.h"
#include "testing/gradient_cases.h"

namespace pantoum::rewrite {
namespace {

using autodiff::CaseBuilder;
using ir::Graph;
using ir::Kind;

constexpr pt_scalars kScalars{1, 42, 0.1};
constexpr int64_t kPool[] = {3, 2, 2, 1, 1, 0, 0, 1, 1, 2, 0};  // overlapping, padded unevenly, dilated

// relu, pooling and leaky relu, one behind the other; and a product, whose weight's gradient needs all of a relu.
Graph training() {
  Graph forward;
  CaseBuilder c(forward, 7);
  const ir::ValueId x = c.parameter({2, 3, 9, 8}), scale = c.parameter({2, 3, 9, 8});
  const ir::ValueId a = c.op(Kind::k_relu, {c.op(Kind::k_mul, {x, scale})});
  const ir::ValueId pooled =
      c.op(Kind::k_max_pool, {a}, {std::vector<int64_t>(std::begin(kPool), std::end(kPool)), {}});
  const ir::ValueId b = c.op(Kind::k_leaky_relu, {c.op(Kind::k_scale, {pooled}, {{}, {1, -0.5}})}, {{}, {0.1}});
  const ir::ValueId rows = c.op(Kind::k_alias, {b}, {}, {autodiff::f32({2, c.builder.type(b).elements() / 2})});
  const ir::ValueId held = c.op(Kind::k_relu, {rows});
  forward.outputs = {c.op(Kind::k_matmul, {held, c.parameter({c.builder.type(rows).shape[1], 3})}, {{0, 0}, {}})};
  auto graph = autodiff::make_training(forward, {.loss = {{.name = "mse"}}, .optimizer = autodiff::NoOptimizer{}});
  EXPECT_TRUE(graph) << to_text(graph.error());
  return std::move(*graph);
}

// The graph with every alternative in place of its op.
Graph with_alternatives(Graph graph) {
  for (ir::Op& op : graph.ops) {
    if (op.alternatives.empty()) continue;
    op.kind = op.alternatives[0].kind;
    op.inputs = op.alternatives[0].inputs;
    op.attrs = op.alternatives[0].attrs;
    op.alternatives.clear();
  }
  return graph;
}

std::vector<Kind> optional_kinds(const Graph& graph) {
  std::vector<Kind> kinds;
  for (const ir::Op& op : graph.ops)
    if (op.optional) kinds.push_back(op.kind);
  return kinds;
}

TEST(CompactActivations, AreOfferedWhereNothingElseOfBackwardNeedsTheActivation) {
  const Graph graph = compact_activations(training());
  const auto valid = ir::validate(graph);
  ASSERT_TRUE(valid) << to_text(valid.error()) << "\n" << ir::to_text(graph);
  EXPECT_THAT(optional_kinds(graph),
              testing::UnorderedElementsAre(Kind::k_sign_bits, Kind::k_max_pool_taps, Kind::k_sign_bits));
  const auto offered =
      std::count_if(graph.ops.begin(), graph.ops.end(), [](const ir::Op& op) { return !op.alternatives.empty(); });
  EXPECT_EQ(offered, 3);
}

void expect_same_bits(const pt_kernel_table& kernels, const Graph& plain, const Graph& saved) {
  for (const int in_place : {ir::kNone, 0, 1}) {
    const ir::Feeds feeds = {
        {plain.labels[0], std::vector<std::byte>(static_cast<size_t>(plain.value(plain.labels[0]).type.bytes()))}};
    const auto expected = ir::evaluate(plain, kernels, feeds, {.scalars = kScalars});
    const auto found =
        ir::evaluate(with_alternatives(saved), kernels, feeds, {.scalars = kScalars, .in_place = in_place});
    ASSERT_TRUE(expected && found) << to_text(found.error());
    for (size_t id = 0; id < plain.values.size(); ++id)
      EXPECT_EQ(expected->bytes[id], found->bytes[id]) << plain.values[id].name;
  }
}

TEST(CompactActivations, GiveTheSameBits) {
  const Graph plain = training(), saved = compact_activations(plain);
  expect_same_bits(*pt_portable_kernels(), plain, saved);
  expect_same_bits(*pt_portable_kernels_f64(), ir::to_double(plain), ir::to_double(saved));
}

TEST(CompactActivations, AreNotOfferedForWindowsThatAByteCannotTell) {
  Graph forward;
  CaseBuilder c(forward, 7);
  const ir::ValueId x = c.op(Kind::k_exp, {c.parameter({1, 1, 20, 20})});
  forward.outputs = {c.op(Kind::k_max_pool, {x}, {{16, 16, 4, 4, 0, 0, 0, 0, 1, 1, 0}, {}})};
  const auto graph =
      autodiff::make_training(forward, {.loss = {{.name = "mse"}}, .optimizer = autodiff::NoOptimizer{}});
  ASSERT_TRUE(graph);
  EXPECT_THAT(optional_kinds(compact_activations(*graph)), testing::IsEmpty());
}

}  // namespace
}  // namespace pantoum::rewrite
