// What is called batch independent is so, bit for bit: every operator's cases with the rows of a batch in another order.
#include "autodiff/feature_cut.h"

#include <gtest/gtest.h>

#include <set>

#include "testing/evaluate.h"
#include "testing/gradient_cases.h"

namespace pantoum::autodiff {
namespace {

using ir::Graph;
using ir::Kind;
using ir::Op;
using ir::ValueId;
using Bytes = std::vector<std::byte>;

// The rows in the order last, first, second to last, ...: none stays where it was, or beside its neighbour.
Bytes in_other_order(const Bytes& bytes, int64_t rows) {
  const size_t row = bytes.size() / static_cast<size_t>(rows);
  Bytes made;
  for (int64_t at = 0; at < rows; ++at) {
    const auto from = static_cast<size_t>(at % 2 == 0 ? rows - 1 - at / 2 : at / 2);
    made.insert(made.end(), bytes.begin() + static_cast<ptrdiff_t>(from * row),
                bytes.begin() + static_cast<ptrdiff_t>((from + 1) * row));
  }
  return made;
}

// The op alone on these operands; its first output.
Bytes run(const Graph& graph, const Op& op, const std::vector<Bytes>& operands) {
  Graph alone;
  ir::Builder builder(alone);
  ir::Feeds feeds;
  std::vector<ValueId> inputs;
  for (size_t input = 0; input < op.inputs.size(); ++input) {
    inputs.push_back(builder.input("x" + std::to_string(input), graph.value(op.inputs[input]).type));
    feeds[inputs.back()] = operands[input];
  }
  const std::vector<ValueId> outputs = builder.add(op.kind, "op", inputs, op.attrs, ir::types_of(graph, op.outputs));
  EXPECT_FALSE(builder.error()) << to_text(*builder.error());
  alone.results = outputs;
  const auto made = ir::evaluate(alone, *pt_portable_kernels(), feeds);
  EXPECT_TRUE(made) << to_text(made.error());
  return made ? made->bytes[static_cast<size_t>(outputs[0])] : Bytes{};
}

// Cases as the network has them: larger than what kernels compute at once, and no multiple of it.
std::vector<GradientCase> large_cases() {
  std::vector<GradientCase> cases;
  const auto add = [&](std::string name, std::function<ValueId(CaseBuilder&)> build) {
    cases.push_back({std::move(name), std::move(build)});
  };
  for (const int64_t rows : {7, 37})
    add("matmul", [=](CaseBuilder& c) {
      return c.op(Kind::k_matmul, {c.parameter({rows, 133}), c.parameter({133, 51}), c.parameter({51})}, {{0, 0}, {}});
    });
  add("matmul b'", [](CaseBuilder& c) {
    return c.op(Kind::k_matmul, {c.parameter({9, 133}), c.parameter({51, 133}), c.parameter({51})}, {{0, 1}, {}});
  });
  add("attention", [](CaseBuilder& c) {
    return c.op(Kind::k_matmul, {c.parameter({5, 2, 17, 33}), c.parameter({5, 2, 33, 17})}, {{0, 0}, {}});
  });
  for (const int64_t groups : {1, 16})
    add("conv2d", [=](CaseBuilder& c) {
      return c.op(Kind::k_conv2d,
                  {c.parameter({9, 16, 13, 11}), c.parameter({32, 16 / groups, 3, 3}), c.parameter({32})},
                  {{1, 1, 1, 1, 1, 1, 1, 1, groups}, {}});
    });
  add("conv2d 1x1", [](CaseBuilder& c) {
    return c.op(Kind::k_conv2d, {c.parameter({9, 33, 5, 5}), c.parameter({40, 33, 1, 1})},
                {{2, 2, 0, 0, 0, 0, 1, 1, 1}, {}});
  });
  add("mean", [](CaseBuilder& c) { return c.op(Kind::k_reduce_mean, {c.parameter({9, 33, 7, 7})}, {{12}, {}}); });
  add("softmax", [](CaseBuilder& c) { return c.op(Kind::k_softmax, {c.parameter({9, 33, 7})}, {{1}, {}}); });
  add("transpose", [](CaseBuilder& c) { return c.op(Kind::k_transpose, {c.parameter({9, 3, 7})}, {{0, 2, 1}, {}}); });
  add("slice", [](CaseBuilder& c) {
    return c.op(Kind::k_slice, {c.parameter({9, 7})}, {{0, 1, 6, -2}, {}}, {f32({9, 3})});
  });
  add("expand", [](CaseBuilder& c) {
    return c.op(Kind::k_expand, {c.parameter({9, 1, 7})}, {{}, {0.5}}, {f32({9, 5, 7})});
  });
  add("batch_norm_eval", [](CaseBuilder& c) {
    return c.op(Kind::k_batch_norm_eval,
                {c.parameter({9, 33, 7, 5}), c.parameter({33}), c.parameter({33}), c.parameter({33}), c.positive({33})},
                {{}, {1e-5}});
  });
  return cases;
}

// Tries every set of operands that change with the batch; the number of those for which the op is batch independent.
int check(const Graph& graph, const Op& op, const ir::Evaluated& made) {
  int found = 0;
  std::vector<Bytes> operands;
  for (const ValueId input : op.inputs) operands.push_back(made.bytes[static_cast<size_t>(input)]);
  const ir::Shape& shape = graph.value(op.outputs[0]).type.shape;
  const int64_t batch = shape.empty() ? 1 : shape[0];
  for (unsigned set = 1; set < 1U << op.inputs.size(); ++set) {
    std::vector<char> changes(graph.values.size(), 0);
    for (size_t input = 0; input < op.inputs.size(); ++input)
      if ((set >> input & 1U) != 0) changes[static_cast<size_t>(op.inputs[input])] = 1;
    if (!is_batch_independent(graph, op, changes, batch)) continue;
    ++found;
    std::vector<Bytes> moved = operands;
    for (size_t input = 0; input < op.inputs.size(); ++input)
      if (changes[static_cast<size_t>(op.inputs[input])] != 0) moved[input] = in_other_order(operands[input], batch);
    EXPECT_EQ(run(graph, op, moved), in_other_order(run(graph, op, operands), batch)) << op.name << " " << set;
  }
  return found;
}

TEST(BatchIndependent, WhatIsCalledSoIsSoForEveryOperator) {
  std::set<Kind> covered;
  std::vector<GradientCase> cases = gradient_cases();
  for (GradientCase& more : large_cases()) cases.push_back(std::move(more));
  for (const GradientCase& which : cases) {
    Graph graph;
    CaseBuilder builder(graph, 5);
    graph.outputs = {which.build(builder)};
    const auto made = ir::evaluate(graph, *pt_portable_kernels(), {});
    ASSERT_TRUE(made) << which.name << to_text(made.error());
    for (const Op& op : graph.ops)
      if (op.kind != Kind::k_alias && check(graph, op, *made) > 0) covered.insert(op.kind);
  }
  for (const Kind kind :
       {Kind::k_matmul, Kind::k_conv2d, Kind::k_add, Kind::k_mul, Kind::k_relu, Kind::k_gelu, Kind::k_softmax,
        Kind::k_layer_norm, Kind::k_batch_norm_eval, Kind::k_max_pool, Kind::k_avg_pool, Kind::k_reduce_sum,
        Kind::k_reduce_mean, Kind::k_transpose, Kind::k_concat, Kind::k_split, Kind::k_slice, Kind::k_expand})
    EXPECT_TRUE(covered.contains(kind)) << ir::name_of(kind);
}

TEST(BatchIndependent, WhatMixesSamplesIsNot) {
  Graph graph;
  CaseBuilder c(graph, 1);
  const ValueId x = c.parameter({4, 6}), w = c.parameter({4, 4}), v = c.parameter({6, 6}), b = c.parameter({4, 6});
  const std::vector<ValueId> made{c.op(Kind::k_matmul, {x, w}, {{1, 0}, {}}),
                                  c.op(Kind::k_softmax, {x}, {{0}, {}}),
                                  c.op(Kind::k_reduce_sum, {x}, {{1}, {}}),
                                  c.op(Kind::k_transpose, {x}, {{1, 0}, {}}),
                                  c.op(Kind::k_add, {x, b}),
                                  c.builder.reshape(x, {2, 12}),
                                  c.op(Kind::k_matmul, {v, x}, {{0, 1}, {}}),
                                  c.ops(Kind::k_batch_norm, {x, c.parameter({6}), c.parameter({6})}, {{}, {1e-5}})[0]};
  std::vector<char> changes(graph.values.size(), 0);
  changes[static_cast<size_t>(x)] = 1;
  for (const ValueId value : made) {
    const Op& op = graph.op(graph.value(value).producer);
    EXPECT_FALSE(is_batch_independent(graph, op, changes, 4)) << op.name << " " << ir::name_of(op.kind);
  }
}

}  // namespace
}  // namespace pantoum::autodiff
