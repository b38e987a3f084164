#include "import/gate_blocks.h"

#include <gtest/gtest.h>

#include "ir/builder.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

// A weight of three gates of two units each, [6, 4], and what is made of it.
struct Weight {
  ir::Graph graph;
  ir::Builder builder{graph};
  ValueId w = builder.parameter("w", {ir::DType::kF32, {6, 4}}, nullptr);

  ValueId slice(ValueId x, int64_t start, int64_t count, int64_t step = 1) {
    Shape shape = builder.type(x).shape;
    ir::Attrs attrs{{start, step}, {}};
    for (size_t d = 1; d < shape.size(); ++d) attrs.ints.insert(attrs.ints.end(), {0, 1});
    shape[0] = count;
    return builder.op(Kind::k_slice, "slice", {x}, attrs, {{ir::DType::kF32, shape}});
  }
  ValueId joined(std::vector<ValueId> parts) { return builder.concat("joined", std::move(parts), 0); }
  [[nodiscard]] std::vector<int64_t> blocks(ValueId x, int64_t first = 0) const {
    const auto found = gate_blocks(graph, x, first, 3, 8);
    if (!found || found->source != w) return {};
    return found->blocks;
  }
};

using Blocks = std::vector<int64_t>;

TEST(GateBlocks, AreThoseOfTheValueItselfInOrder) {
  const Weight weight;
  EXPECT_EQ(weight.blocks(weight.w), (Blocks{0, 1, 2}));
}

TEST(GateBlocks, AreFoundThroughSlicesOfOneOrMore) {
  Weight weight;
  EXPECT_EQ(weight.blocks(weight.joined({weight.slice(weight.w, 4, 2), weight.slice(weight.w, 0, 4)})),
            (Blocks{2, 0, 1}));
  const ValueId last = weight.slice(weight.slice(weight.w, 2, 4), 2, 2);
  EXPECT_EQ(weight.blocks(weight.joined({last, weight.slice(weight.w, 0, 4)})), (Blocks{2, 0, 1}));
}

TEST(GateBlocks, AreFoundThroughASplit) {
  Weight weight;
  const auto parts = weight.builder.split("split", weight.w, 0, {2, 2, 2});
  EXPECT_EQ(weight.blocks(weight.joined({parts[1], parts[0], parts[2]})), (Blocks{1, 0, 2}));
}

TEST(GateBlocks, AreFoundInOneDirectionOfTwo) {
  Weight weight;
  const ValueId other = weight.builder.parameter("other", {ir::DType::kF32, {6, 4}}, nullptr);
  const ValueId mine = weight.joined({weight.slice(weight.w, 2, 4), weight.slice(weight.w, 0, 2)});
  const ValueId both =
      weight.joined({weight.builder.reshape(other, {1, 6, 4}), weight.builder.reshape(mine, {1, 6, 4})});
  EXPECT_EQ(weight.blocks(both, 24), (Blocks{1, 2, 0}));
  EXPECT_EQ(weight.blocks(both), Blocks{});
}

TEST(GateBlocks, AreEachOfOneGate) {
  Weight weight;
  const ValueId first = weight.slice(weight.w, 0, 2), last = weight.slice(weight.w, 4, 2);
  EXPECT_EQ(weight.blocks(weight.joined({first, last, first})), Blocks{});
  EXPECT_EQ(weight.blocks(weight.joined({first, last, weight.slice(weight.w, 1, 2)})), Blocks{});
  EXPECT_EQ(weight.blocks(weight.joined({first, last, weight.slice(weight.w, 3, 2, -1)})), Blocks{});
  const ValueId rows = weight.slice(weight.w, 2, 1);
  EXPECT_EQ(weight.blocks(weight.joined({first, last, rows, weight.slice(weight.w, 3, 1)})), Blocks{});
}

TEST(GateBlocks, AreAllOfTheirSource) {
  Weight weight;
  const ValueId more = weight.builder.parameter("more", {ir::DType::kF32, {8, 4}}, nullptr);
  EXPECT_FALSE(gate_blocks(weight.graph, weight.slice(more, 0, 6), 0, 3, 8));
  EXPECT_FALSE(gate_blocks(weight.graph, weight.w, 0, 3, 0)) << "of weights without elements";
}

TEST(GateBlocks, AreContiguous) {
  Weight weight;
  const ValueId columns = weight.builder.split("columns", weight.w, 1, {2, 2})[0];
  EXPECT_FALSE(gate_blocks(weight.graph, columns, 0, 3, 4).value_or(GateBlocks{}).source == weight.w);
}

}  // namespace
}  // namespace pantoum::import
