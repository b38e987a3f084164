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

// The small step with a pager: blocks of 16 bytes, a second for each transfer and one for each block. `fc` may stream w in, and `sgd`
// stream w in and w' out.
CostGraph streaming_graph() {
  CostGraph graph = small_graph();
  graph.tensors[1].pinned = false;
  Pager& pager = graph.device.pager;
  pager.mode = PagerMode::kAsync;
  pager.block_bytes = 16;
  pager.in = pager.out = {.latency_s = 1, .bytes_per_s = 16};
  for (Op& op : graph.ops) op.choices.push_back(op.choices.front());
  graph.ops[0].choices[1].stream = {.in = {1}, .bytes_in = 32, .transfers_in = 2};
  graph.ops[1].choices[1].stream = {
      .in = {0}, .out = {0}, .bytes_in = 32, .bytes_out = 32, .transfers_in = 1, .transfers_out = 2};
  return graph;
}

// Spoils the stream of `sgd`; `part` is what the refusal says, and "" stands for none.
void expect_stream(const std::function<void(CostGraph&, Choice&, Stream&)>& change, const std::string& part) {
  CostGraph graph = streaming_graph();
  Choice& choice = graph.ops[1].choices[1];
  change(graph, choice, choice.stream);
  const Result<void> valid = validate(graph);
  ASSERT_EQ(valid.has_value(), part.empty()) << part << (valid ? "" : to_text(valid.error()));
  if (valid) return;
  EXPECT_EQ(valid.error().code, "E0221");
  EXPECT_EQ(valid.error().where, "op 6 (sgd)");
  EXPECT_NE(valid.error().message.find(part), std::string::npos) << valid.error().message;
}

TEST(CostGraph, RefusesStreamsOfWhatAChoiceDoesNotReadOrWrite) {
  constexpr const char* kPositions = "streams a position";
  expect_stream([](CostGraph&, Choice&, Stream&) {}, "");
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.in = {2}; }, kPositions);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.in = {-1}; }, kPositions);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.in = {0, 0}; }, kPositions);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.out = {1}; }, kPositions);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.out = {0, 0}; }, kPositions);
  expect_stream([](CostGraph&, Choice& c, Stream&) { c.reads = {1}, c.overwrites.clear(); }, kPositions);
  expect_stream([](CostGraph&, Choice& c, Stream&) { c.writes.clear(), c.overwrites.clear(); }, kPositions);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.in.clear(), s.out.clear(); }, "of no input or output");
  expect_stream([](CostGraph&, Choice&, Stream& s) { s = {}; }, "");
  expect_stream([](CostGraph&, Choice&, Stream& s) { s = {.async_s = 1}; }, "of no input or output");
}

TEST(CostGraph, RefusesStreamsThatDoNotMoveWholeBlocks) {
  constexpr const char* kBlocks = "does not move whole blocks";
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.bytes_in = 31; }, kBlocks);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.bytes_in = 0; }, kBlocks);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.bytes_in = -16; }, kBlocks);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.bytes_in = int64_t{1} << 53; }, kBlocks);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.transfers_in = 0; }, kBlocks);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.transfers_in = -1; }, kBlocks);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.transfers_in = 2; }, "");
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.transfers_in = 3; }, kBlocks);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.bytes_in = 64, s.transfers_in = 4; }, "");  // in two passes
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.bytes_out = 40; }, kBlocks);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.transfers_out = 0; }, kBlocks);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.transfers_out = 3; }, kBlocks);
  // No positions, and yet bytes.
  expect_stream([](CostGraph&, Choice& c, Stream& s) { s.in.clear(), c.overwrites.clear(); }, kBlocks);
  expect_stream([](CostGraph&, Choice& c, Stream& s) { s.out.clear(), c.overwrites.clear(); }, kBlocks);
}

TEST(CostGraph, RefusesStreamsThatDoNotWriteTheirOutputsWhole) {
  const auto less = [](CostGraph&, Choice&, Stream& s) { s.bytes_out = 16, s.transfers_out = 1; };
  expect_stream(less, "writes 16 bytes, and its outputs have 32");
  const auto in_place = [&](CostGraph& g, Choice& c, Stream& s) { less(g, c, s), s.in_place = true; };
  expect_stream(in_place, "");
  expect_stream([&](CostGraph& g, Choice& c, Stream& s) { in_place(g, c, s), c.overwrites.clear(); },
                "writes parts of output 0, which overwrites no input");
  // In whole blocks: w' of 33 bytes has three.
  expect_stream([](CostGraph& g, Choice&, Stream&) { g.tensors[3].bytes = 33; }, "outputs have 48");
  expect_stream([](CostGraph& g, Choice&, Stream& s) { g.tensors[3].bytes = 33, s.bytes_out = 48; }, "");
  // Parts of no output.
  expect_stream(
      [](CostGraph&, Choice& c, Stream& s) {
        c.overwrites.clear();
        s = {.in = {0}, .bytes_in = 32, .transfers_in = 1, .in_place = true};
      },
      "writes 0 bytes, and its outputs have 0");
}

TEST(CostGraph, RefusesPairsOfWhichOneIsStreamed) {
  constexpr const char* kPair = "output 0 overwrites input 0, and one of the two is streamed";
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.out.clear(), s.bytes_out = s.transfers_out = 0; }, kPair);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.in.clear(), s.bytes_in = s.transfers_in = 0; }, kPair);
  expect_stream([](CostGraph&, Choice&, Stream& s) { s.in = {1}; }, kPair);
}

// In: one transfer and two blocks, 3 s. Out: two of each, 4 s. Computing: 1 ms.
TEST(CostGraph, RefusesStreamsFasterThanTheirChannelsOrSlowerThanAllInTurn) {
  const auto in_seconds = [](double seconds, bool full, double computing = 1e-3) {
    return [=](CostGraph& g, Choice& c, Stream& s) {
      g.device.pager.full_duplex = full, c.time_s = computing, s.async_s = seconds;
    };
  };
  expect_stream(in_seconds(7, false), "");
  expect_stream(in_seconds(7.001, false), "");
  expect_stream(in_seconds(6.9, false), "async_s");
  expect_stream(in_seconds(7.1, false), "async_s");
  expect_stream(in_seconds(4, true), "");
  expect_stream(in_seconds(3.9, true), "async_s");
  expect_stream(in_seconds(8.9, false, 9), "async_s");
  expect_stream(in_seconds(9, false, 9), "");
  expect_stream(in_seconds(16, true, 9), "");
  expect_stream(in_seconds(std::numeric_limits<double>::quiet_NaN(), false), "async_s");
  expect_stream(in_seconds(-1, false), "async_s");
  // Nobody runs it where there is no storage.
  expect_stream(
      [&](CostGraph& g, Choice& c, Stream& s) {
        in_seconds(1, false)(g, c, s);
        g.device.pager.mode = PagerMode::kNone;
      },
      "");
}

TEST(CostGraph, TellsWhatAChoiceThatStreamsTakes) {
  CostGraph graph = streaming_graph();
  Choice& choice = graph.ops[1].choices[1];
  Pager& pager = graph.device.pager;
  pager.in.w = 2, pager.out.w = 5;
  choice.time_s = 1, choice.energy_j = 10;
  const ChoiceCosts costs = costs_of(pager, choice);
  EXPECT_EQ(costs.seconds_in, 3);
  EXPECT_EQ(costs.seconds_out, 4);
  EXPECT_EQ(costs.seconds, 8);
  EXPECT_EQ(costs.joules, 10 + 3 * 2 + 4 * 5);
  choice.stream.async_s = 7.5;
  EXPECT_EQ(costs_of(pager, choice).seconds, 7.5);
  pager.mode = PagerMode::kSync;
  EXPECT_EQ(costs_of(pager, choice).seconds, 8);
  EXPECT_EQ(costs_of(pager, graph.ops[1].choices[0]).seconds, graph.ops[1].choices[0].time_s);
  EXPECT_TRUE(has_queues(graph));
  EXPECT_FALSE(has_queues(small_graph()));
}

TEST(CostGraph, HashesWhatIsStreamedAndNotHowLongThatTakes) {
  const uint64_t hash = structure_hash(streaming_graph());
  const auto changed = [](const std::function<void(Stream&)>& change) {
    CostGraph graph = streaming_graph();
    change(graph.ops[1].choices[1].stream);
    return structure_hash(graph);
  };
  EXPECT_EQ(changed([](Stream& s) { s.async_s = 7; }), hash);
  EXPECT_NE(changed([](Stream& s) { s = {}; }), hash);
  EXPECT_NE(changed([](Stream& s) { s.in = {1}; }), hash);
  EXPECT_NE(changed([](Stream& s) { s.in = {0, 1}; }), hash);
  EXPECT_NE(changed([](Stream& s) { s.out.clear(); }), hash);
  EXPECT_NE(changed([](Stream& s) { std::swap(s.in, s.out), s.in.clear(); }), hash);
  EXPECT_NE(changed([](Stream& s) { s.bytes_in = 64; }), hash);
  EXPECT_NE(changed([](Stream& s) { s.bytes_out = 64; }), hash);
  EXPECT_NE(changed([](Stream& s) { s.transfers_in = 2; }), hash);
  EXPECT_NE(changed([](Stream& s) { s.transfers_out = 1; }), hash);
  EXPECT_NE(changed([](Stream& s) { s.in_place = true; }), hash);
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
