#include "cost/cache_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pantoum::cost {

using problem::Choice;
using problem::CostGraph;
using problem::Home;
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

// Either input's bytes would do: the other's are free for the next result.
TEST(ColdShares, AResultLiesOverOneOfItsInputs) {
  CostGraph graph;
  graph.tensors.push_back({.id = 0, .name = "x", .bytes = kUnit, .start = Home::kRam, .end = Home::kRam});
  const auto add = [&](std::vector<int64_t> inputs, bool over) {
    const auto id = static_cast<int64_t>(graph.ops.size());
    Choice choice{.algorithm = "a", .writes = {0}};
    for (size_t at = 0; at < inputs.size(); ++at) {
      choice.reads.push_back(static_cast<int>(at));
      if (over) choice.overwrites.emplace_back(0, static_cast<int>(at));
    }
    graph.tensors.push_back({.id = id + 1, .name = "t", .bytes = kUnit});
    graph.ops.push_back({.id = id, .name = "op", .inputs = inputs, .outputs = {id + 1}, .choices = {choice}});
    graph.order.push_back(id);
    return id + 1;
  };
  int64_t last = 0;
  for (int turn = 0; turn < 4; ++turn) last = add({add({last}, false), add({last}, false)}, true);
  const std::vector<double> shares = firsts(graph, 1000 * kUnit);
  for (size_t op = 0; op < shares.size(); ++op) EXPECT_DOUBLE_EQ(shares[op], 0) << op;
}

TEST(ColdShares, AnUpdateLiesOverWhatItReplaces) {
  CostGraph graph = line(1, true);
  graph.tensors[0].end = Home::kNone, graph.tensors[0].next = 1, graph.tensors[1].end = Home::kRam;
  EXPECT_THAT(firsts(graph, 0), ElementsAre(0.5));  // what it reads
}

// What it replaced lies where it lay: nobody else takes those bytes.
TEST(ColdShares, AnUpdateLeavesNothingToTake) {
  CostGraph graph = line(2, true);  // x -> x' by an update, then y of it
  graph.tensors[0].end = Home::kNone, graph.tensors[0].next = 1;
  graph.ops[1].choices[0].overwrites.clear();
  EXPECT_THAT(last_uses(graph), ElementsAre(-1, -1, 1));
  const std::vector<double> shares = firsts(graph, 1 * kUnit);
  EXPECT_DOUBLE_EQ(shares[1], 0.5) << "bytes of its own";
}

// Plans of first choices do not run it.
TEST(ColdShares, AnOptionalOpMovesNothing) {
  CostGraph graph = line(4, false), longer = line(4, false);
  longer.tensors.push_back({.id = 5, .name = "tap", .bytes = 100 * kUnit});
  const std::vector<Choice> choices = longer.ops[0].choices;
  longer.ops.push_back({.id = 4, .name = "tap", .inputs = {1}, .outputs = {5}, .optional = true, .choices = choices});
  longer.order.insert(longer.order.begin() + 1, 4);
  std::vector<double> shares = firsts(graph, 3 * kUnit);
  std::vector<std::vector<double>> with = cold_shares(longer, 3 * kUnit);
  for (size_t op = 0; op < 4; ++op) EXPECT_DOUBLE_EQ(with[op].at(0), shares[op]) << op;
  EXPECT_THAT(with[4], ElementsAre(1)) << "it has a cost all the same";
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
