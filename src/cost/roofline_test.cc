#include "cost/roofline.h"

#include <gtest/gtest.h>

#include "ir/builder.h"

namespace pantoum::cost {
namespace {

const Compute kPlain{.flops_per_s = 1e9, .bytes_per_s = 1e8, .op_overhead_s = 1e-6};

TEST(Roofline, AddsOrTakesTheLargerOfComputingAndMoving) {
  const Work work{.flops = 3e6, .bytes = 1e6};
  Compute compute = kPlain;
  EXPECT_DOUBLE_EQ(modelled_seconds(compute, work), 3e-3 + 1e-2 + 1e-6);
  compute.roofline = Roofline::kMax;
  EXPECT_DOUBLE_EQ(modelled_seconds(compute, work), 1e-2 + 1e-6);
  EXPECT_DOUBLE_EQ(modelled_seconds(compute, {.flops = 3e8, .bytes = 1e6}), 0.3 + 1e-6);
  compute.bytes_per_s = 0;  // not modelled
  EXPECT_DOUBLE_EQ(modelled_seconds(compute, work), 3e-3 + 1e-6);
}

TEST(Roofline, StreamsFromTheSmallestCacheThatHoldsTheOperands) {
  Compute compute = kPlain;
  compute.caches = {{1000, 1e10}, {100000, 1e9}};
  const auto seconds = [&](double footprint) {
    return modelled_seconds(compute, {.bytes = 1e6, .footprint = footprint});
  };
  EXPECT_DOUBLE_EQ(seconds(1000), 1e6 / 1e10 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds(1001), 1e6 / 1e9 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds(100000), 1e6 / 1e9 + 1e-6);
  EXPECT_DOUBLE_EQ(seconds(100001), 1e6 / 1e8 + 1e-6);
}

TEST(Roofline, LanesThatAreNotFilledAreLost) {
  Compute compute = kPlain;
  compute.vector_lanes = 8, compute.op_overhead_s = 0;
  const auto seconds = [&](double elements, int element_bytes) {
    return modelled_seconds(compute, {.flops = 1e9, .elements = elements, .element_bytes = element_bytes});
  };
  EXPECT_DOUBLE_EQ(seconds(800, 4), 1);
  EXPECT_DOUBLE_EQ(seconds(1, 4), 8);
  EXPECT_DOUBLE_EQ(seconds(12, 4), 16.0 / 12);
  EXPECT_DOUBLE_EQ(seconds(800, 8), 2);  // half the lanes
  EXPECT_DOUBLE_EQ(seconds(800, 1), 1);  // computed as wide as f32
  EXPECT_DOUBLE_EQ(seconds(0, 4), 1);    // not known
}

TEST(Roofline, WorkIsOfAllOperandsAndTheWorkspace) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {5, 3}});
  const ir::ValueId w = builder.parameter("w", {ir::DType::kF32, {3, 2}}, nullptr);
  builder.op(ir::Kind::k_matmul, "y", {x, w}, {{0, 0}, {}});
  const Work work = work_of(graph, graph.ops.back(), 100);
  EXPECT_EQ(work.flops, 2.0 * 5 * 3 * 2);
  EXPECT_EQ(work.bytes, 4 * (15 + 6 + 10));
  EXPECT_EQ(work.footprint, 4 * (15 + 6 + 10) + 100);
  EXPECT_EQ(work.elements, 15);
  EXPECT_EQ(work.element_bytes, 4);
}

TEST(Roofline, JoulesAreWattsTimesSecondsOrOfFlopsAndBytes) {
  const Work work{.flops = 1e6, .bytes = 1e3};
  EXPECT_DOUBLE_EQ(modelled_joules({.active_w = 3}, work, 2), 6);
  EXPECT_DOUBLE_EQ(modelled_joules({.joules_per_flop = 1e-6, .joules_per_byte = 1e-3}, work, 2), 2);
}

}  // namespace
}  // namespace pantoum::cost
