#include "problem/cost_graph.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>

namespace pantoum::problem {
namespace {

// x -> [0] -> y -> [1] -> w' over w
CostGraph small_graph() {
  CostGraph graph;
  graph.device.name = "test";
  graph.tensors = {{.id = 10, .name = "x", .bytes = 64, .start = Home::kRam},
                   {.id = 11, .name = "w", .bytes = 32, .start = Home::kRam, .pinned = true, .next = 13},
                   {.id = 12, .name = "y", .bytes = 16},
                   {.id = 13, .name = "w'", .bytes = 32}};
  Choice choice;
  choice.time_s = 1e-3;
  choice.energy_j = 1e-6;
  choice.reads = {0, 1};
  choice.writes = {0};
  graph.ops = {{.id = 5, .name = "fc", .inputs = {10, 11}, .outputs = {12}, .choices = {choice}},
               {.id = 6, .name = "sgd", .inputs = {11, 12}, .outputs = {13}, .recompute = false, .choices = {choice}}};
  graph.ops[1].choices[0].overwrites = {{0, 0}};
  graph.order = {5, 6};
  return graph;
}

void expect_refused(const std::function<void(CostGraph&)>& spoil, const std::string& part) {
  CostGraph graph = small_graph();
  spoil(graph);
  const Result<void> valid = validate(graph);
  ASSERT_FALSE(valid.has_value()) << part;
  EXPECT_EQ(valid.error().code, "E0221");
  EXPECT_NE((valid.error().message + " @ " + valid.error().where).find(part), std::string::npos)
      << valid.error().message << " @ " << valid.error().where;
}

TEST(CostGraph, AcceptsASmallStep) {
  EXPECT_TRUE(validate(small_graph()).has_value());
}

TEST(CostGraph, RefusesWhatIsNoGraph) {
  expect_refused([](CostGraph& g) { g.tensors[1].id = 10; }, "stands twice");
  expect_refused([](CostGraph& g) { g.ops[1].id = 5; }, "stands twice");
  expect_refused([](CostGraph& g) { g.ops[0].inputs[0] = 99; }, "reads tensor 99, which does not exist");
  expect_refused([](CostGraph& g) { g.ops[0].outputs[0] = 99; }, "writes tensor 99, which does not exist");
  expect_refused([](CostGraph& g) { g.ops[1].outputs[0] = 12; }, "another producer already");
  expect_refused([](CostGraph& g) { g.ops[1].outputs[0] = 11; }, "there from the start");
  expect_refused([](CostGraph& g) { g.ops[0].choices.clear(); }, "has no choice");
  expect_refused([](CostGraph& g) { g.tensors[1].next = 77; }, "its next, tensor 77, does not exist");
  expect_refused([](CostGraph& g) { g.device.engines = {}; }, "0 engines");
  expect_refused([](CostGraph& g) { g.ops[0].choices[0].engines = {"npu"}; }, "\"npu\"");
}

TEST(CostGraph, RefusesPositionsThatDoNotExist) {
  expect_refused([](CostGraph& g) { g.ops[0].choices[0].reads = {0, 2}; }, "reads a position");
  expect_refused([](CostGraph& g) { g.ops[0].choices[0].reads = {0, 0}; }, "reads a position");
  expect_refused([](CostGraph& g) { g.ops[0].choices[0].writes = {-1}; }, "writes a position");
  expect_refused([](CostGraph& g) { g.ops[1].choices[0].overwrites = {{0, 2}}; }, "overwrites");
  expect_refused([](CostGraph& g) { g.ops[1].choices[0].reads = {1}; }, "overwrites");
}

TEST(CostGraph, RefusesToOverwriteWhatIsPinnedButWithItsNext) {
  const auto overwriting = [](const std::function<void(CostGraph&)>& change) {
    CostGraph graph = small_graph();
    graph.tensors[2].bytes = 32;
    graph.ops[0].choices.push_back(graph.ops[0].choices[0]);
    graph.ops[0].choices[1].overwrites = {{0, 1}};
    change(graph);
    return validate(graph);
  };
  const auto refused = overwriting([](CostGraph&) {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().message + " @ " + refused.error().where,
            "choice 1 overwrites tensor 11 (w), which is pinned, with tensor 12, which is not its next @ op 5 (fc)");
  EXPECT_NE(refused.error().help.find("leave [0, 1] out of its \"overwrites\""), std::string::npos);
  EXPECT_TRUE(overwriting([](CostGraph& g) { g.tensors[1].pinned = false; }));
  EXPECT_TRUE(overwriting([](CostGraph& g) { g.tensors[1].next = 12, g.ops[1].choices[0].overwrites.clear(); }));
}

TEST(CostGraph, RefusesANextThatCannotTakeThePlaceOfWhatIsPinned) {
  expect_refused([](CostGraph& g) { g.ops[1].choices[0].overwrites.clear(); }, "no choice of op 6 (sgd) overwrites it");
  CostGraph graph = small_graph();
  graph.ops[1].choices[0].overwrites.clear();
  graph.tensors[1].pinned = false;
  EXPECT_TRUE(validate(graph));
  graph = small_graph();
  graph.ops[1].choices.push_back(graph.ops[1].choices[0]);
  graph.ops[1].choices[0].overwrites.clear();
  EXPECT_TRUE(validate(graph));
}

TEST(CostGraph, RefusesQuantitiesThatCannotBe) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  expect_refused([](CostGraph& g) { g.tensors[0].bytes = -1; }, "size is negative");
  expect_refused([](CostGraph& g) { g.tensors[0].bytes = g.tensors[1].bytes = int64_t{1} << 52; }, "2^53");
  expect_refused([](CostGraph& g) { g.ops[0].choices[0].workspace_bytes = int64_t{1} << 53; }, "workspace");
  expect_refused([](CostGraph& g) { g.ops[0].choices[0].time_s = kInfinity; }, "a cost");
  expect_refused([](CostGraph& g) { g.ops[0].choices[0].energy_j = -1; }, "a cost");
  expect_refused([](CostGraph& g) { g.device.align_bytes = 0; }, "quantity of the device");
  expect_refused([](CostGraph& g) { g.device.pager.in.bytes_per_s = 0; }, "quantity of the pager");
}

TEST(CostGraph, RefusesAnOrderThatReadsBeforeItWrites) {
  expect_refused([](CostGraph& g) { g.order = {6, 5}; }, "before");
  expect_refused([](CostGraph& g) { g.order = {5}; }, "lists 1 ops of 2");
  expect_refused([](CostGraph& g) { g.order = {5, 5}; }, "twice");
  expect_refused([](CostGraph& g) { g.tensors[0].start = Home::kNone; }, "starts nowhere");
}

TEST(CostGraph, RoundsTransfersUpToBlocks) {
  Pager pager;
  pager.block_bytes = 512;
  const Link link{.latency_s = 0.5, .bytes_per_s = 1024, .w = 1};
  EXPECT_EQ(transfer_seconds(pager, link, 0), 0.5);
  EXPECT_EQ(transfer_seconds(pager, link, 1), 1.0);
  EXPECT_EQ(transfer_seconds(pager, link, 512), 1.0);
  EXPECT_EQ(transfer_seconds(pager, link, 513), 1.5);
}

TEST(CostGraph, HashesStructureAndNotNamesOrCosts) {
  const uint64_t hash = structure_hash(small_graph());
  CostGraph same = small_graph();
  same.name = "other";
  same.tensors[0].name = same.ops[0].name = "other";
  same.ops[0].choices[0].time_s = same.ops[0].choices[0].energy_j = 7;
  same.device.idle_w = 3;
  EXPECT_EQ(structure_hash(same), hash);
  const std::vector<std::function<void(CostGraph&)>> changes = {
      [](CostGraph& g) { g.tensors[0].bytes = 65; },
      [](CostGraph& g) { g.tensors[0].start = Home::kAux; },
      [](CostGraph& g) {
        g.ops[0].inputs = {11, 10};
      },
      [](CostGraph& g) { g.ops[0].recompute = false; },
      [](CostGraph& g) { g.ops[0].choices[0].reads = {0}; },
      [](CostGraph& g) { g.ops[1].choices[0].overwrites.clear(); },
      [](CostGraph& g) { g.device.align_bytes = 64; },
      [](CostGraph& g) { g.ops[0].choices[0].algorithm = "winograd"; }};
  for (size_t change = 0; change < changes.size(); ++change) {
    CostGraph other = small_graph();
    changes[change](other);
    EXPECT_NE(structure_hash(other), hash) << "change " << change;
  }
}

}  // namespace
}  // namespace pantoum::problem
