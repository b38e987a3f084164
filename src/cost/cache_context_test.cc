#include "cost/cache_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pantoum::cost {

using problem::Choice;
using problem::CostGraph;
using problem::Home;
using problem::Op;
namespace {

using testing::ElementsAre;

constexpr base::Bytes kUnit = 100;

// x -> a -> b -> .., each op reads what the one before it made; `overwrites`: and may be written over it.
CostGraph line(int ops, bool overwrites) {
  CostGraph graph;
  graph.tensors.push_back({.id = 0, .name = "x", .bytes = kUnit, .start = Home::kRam, .end = Home::kRam});
  for (int op = 0; op < ops; ++op) {
    graph.tensors.push_back({.id = op + 1, .name = "t", .bytes = kUnit});
    Choice choice{.algorithm = "a", .reads = {0}, .writes = {0}};
    if (overwrites) choice.overwrites = {{0, 0}};
    graph.ops.push_back({.id = op, .name = "op", .inputs = {op}, .outputs = {op + 1}, .choices = {choice}});
    graph.order.push_back(op);
  }
  return graph;
}

std::vector<double> firsts(const CostGraph& graph, base::Bytes cache) {
  std::vector<double> shares;
  for (const std::vector<double>& of : cold_shares(graph, cache)) shares.push_back(of.at(0));
  return shares;
}

TEST(ColdShares, AreNoneInACacheThatHoldsTheStep) {
  EXPECT_THAT(firsts(line(4, false), 10 * kUnit), ElementsAre(0, 0, 0, 0));
  EXPECT_THAT(firsts(line(4, true), 10 * kUnit), ElementsAre(0, 0, 0, 0));
}

TEST(ColdShares, AreAllWithoutACache) {
  EXPECT_THAT(firsts(line(3, false), 0), ElementsAre(1, 1, 1));
}

// Two units of temporary bytes turn about: what an op writes was read by the op before the last.
TEST(ColdShares, ResultsTakeTheBytesThatWereFreedLast) {
  EXPECT_THAT(firsts(line(5, false), 4 * kUnit), ElementsAre(0.5, 0, 0, 0, 0));  // x alone has left since
  EXPECT_THAT(firsts(line(5, false), 1 * kUnit), ElementsAre(0.5, 0.5, 0.5, 0.5, 0.5));
}

TEST(ColdShares, AResultOverItsInputIsThere) {
  EXPECT_THAT(firsts(line(4, true), 1 * kUnit), ElementsAre(0.5, 0, 0, 0));  // x stays
}

// Kept for later: every result takes bytes of its own, and the last one reads what has left meanwhile.
TEST(ColdShares, WhatIsKeptLeavesNothingToTake) {
  CostGraph graph = line(6, false);
  graph.ops[5].inputs = {1, 2, 3, 4, 5};
  graph.ops[5].choices[0].reads = {0, 1, 2, 3, 4};
  const std::vector<double> shares = firsts(graph, 2 * kUnit);
  for (int op = 1; op < 5; ++op) EXPECT_DOUBLE_EQ(shares[static_cast<size_t>(op)], 0.5) << op;
  EXPECT_GT(shares[5], 0.5);
}

}  // namespace
}  // namespace pantoum::cost
