#include "cost/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"
#include "kernels/portable/kernel_rows.h"

namespace pantoum::cost {
namespace {

using problem::Choice;
using problem::validate;

constexpr Bytes kBudget = 24 << 10;

// x [1,16,32,32] -> conv with the parameter w [16,16,3,3] -> relu -> its mean over the image
ir::Graph network() {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {1, 16, 32, 32}});
  const ir::ValueId w = builder.parameter("w", {ir::DType::kF32, {16, 16, 3, 3}}, nullptr);
  const ir::ValueId first = builder.op(ir::Kind::k_relu, "first", {x});
  const ir::ValueId conv = builder.op(ir::Kind::k_conv2d, "conv", {first, w}, {{1, 1, 1, 1, 1, 1, 1, 1, 1}, {}});
  const ir::ValueId active = builder.op(ir::Kind::k_relu, "active", {conv});
  const ir::ValueId mean = builder.op(ir::Kind::k_reduce_mean, "mean", {active}, {{12}, {}});
  graph.inputs = {x};
  graph.results = {mean};
  return graph;
}

DeviceProfile host() {
  return load_device("host").value();
}

BuiltCostGraph built(const ir::Graph& graph, int threads = 1) {
  return build_cost_graph(graph, host(), {.params_in = ParamsIn::kAux, .threads = threads}).value();
}

BuiltCostGraph sliced(const ir::Graph& graph, Bytes budget = kBudget) {
  BuiltCostGraph made = built(graph);
  add_slices(made, graph, host().compute, {.budget = budget});
  return made;
}

// RAM that a choice takes while it runs: workspace, and operands that are whole.
Bytes ram_of(const CostGraph& graph, const problem::Op& op, const Choice& choice) {
  Bytes sum = choice.workspace_bytes;
  for (const int position : choice.reads)
    if (choice.reads_whole(position)) sum += graph.tensors[static_cast<size_t>(op.input(position))].bytes;
  for (const int position : choice.writes)
    if (choice.writes_whole(position))
      sum += graph.tensors[static_cast<size_t>(op.outputs[static_cast<size_t>(position)])].bytes;
  return sum;
}

TEST(Slices, MakeEveryLargeOpFitTheBudget) {
  const ir::Graph graph = network();
  const BuiltCostGraph made = sliced(graph);
  ASSERT_TRUE(validate(made.graph)) << to_text(validate(made.graph).error());
  for (const problem::Op& op : made.graph.ops) {
    const bool begins = op.name == "first";  // reads the batch, which is in RAM
    const bool fits = std::ranges::any_of(
        op.choices, [&](const Choice& choice) { return ram_of(made.graph, op, choice) <= kBudget; });
    EXPECT_EQ(fits, !begins) << op.name;
  }
}

TEST(Slices, CountTheStepsOfTheirLoops) {
  const BuiltCostGraph made = sliced(network());
  for (const problem::Op& op : made.graph.ops)
    for (const Choice& choice : op.choices) {
      const std::optional<pt_slicing> slicing = slicing_of_name(choice.algorithm);
      ASSERT_EQ(choice.slices.empty(), !slicing) << choice.algorithm;
      if (!slicing) continue;
      const size_t passes = choice.slices.size() - slicing->loops;  // a loop more, of what takes several
      EXPECT_LE(passes, 1U) << choice.algorithm;
      EXPECT_EQ(std::ranges::count_if(choice.slices, [](int count) { return count < 2; }), 0) << choice.algorithm;
    }
}

TEST(Slices, KeepTheClassOfNumerics) {
  const BuiltCostGraph made = sliced(network());
  for (const problem::Op& op : made.graph.ops)
    for (const Choice& choice : op.choices)
      if (slicing_of_name(choice.algorithm)) {
        EXPECT_EQ(choice.numerics, op.choices.front().numerics) << choice.algorithm;
      }
}

TEST(Slices, MoveEveryByteOnceAtLeastAndWholeBlocks) {
  const BuiltCostGraph made = sliced(network());
  const Bytes block = made.graph.device.pager.block_bytes;
  size_t streaming = 0;
  for (const problem::Op& op : made.graph.ops) {
    for (const Choice& choice : op.choices) {
      if (!choice.stream.any()) continue;
      ++streaming;
      Bytes in = 0, out = 0;
      for (const int position : choice.stream.in)
        in += made.graph.tensors[static_cast<size_t>(op.input(position))].bytes;
      for (const int position : choice.stream.out)
        out += made.graph.tensors[static_cast<size_t>(op.outputs[static_cast<size_t>(position)])].bytes;
      EXPECT_GE(choice.stream.bytes_in, in);
      EXPECT_EQ(choice.stream.bytes_out, out) << choice.algorithm;  // a result is written once
      EXPECT_EQ(choice.stream.bytes_in % block + choice.stream.bytes_out % block, 0);
      EXPECT_LE(choice.workspace_bytes, kBudget);
    }
  }
  EXPECT_GT(streaming, 10U);
}

// Some channels of an image, which is then joined to itself and split again.
ir::Graph parts() {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {1, 16, 32, 32}});
  const ir::ValueId first = builder.op(ir::Kind::k_relu, "first", {x});
  const ir::ValueId some = builder.op(ir::Kind::k_slice, "some", {first}, {{0, 1, 4, 1, 0, 1, 0, 1}, {}},
                                      {{ir::DType::kF32, {1, 4, 32, 32}}});
  const ir::ValueId joined = builder.op(ir::Kind::k_concat, "joined", {first, some}, {{1}, {}});
  const std::vector<ir::ValueId> halves =
      builder.add(ir::Kind::k_split, "halves", {joined}, {{1}, {}},
                  {{ir::DType::kF32, {1, 8, 32, 32}}, {ir::DType::kF32, {1, 12, 32, 32}}});
  graph.inputs = {x};
  graph.results = {builder.op(ir::Kind::k_reduce_mean, "mean", {halves[1]}, {{12}, {}})};
  return graph;
}

TEST(Slices, ReadNoMoreThanThePartThatIsPicked) {
  const BuiltCostGraph made = sliced(parts());
  ASSERT_TRUE(validate(made.graph)) << to_text(validate(made.graph).error());
  for (const problem::Op& op : made.graph.ops) {
    if (op.name == "first" || op.name == "mean") continue;
    EXPECT_TRUE(std::ranges::any_of(op.choices, [&](const Choice& choice) {
      return ram_of(made.graph, op, choice) <= kBudget / 8;
    })) << op.name;
    for (const Choice& choice : op.choices) {
      const bool reads_all =
          choice.stream.in.size() == op.inputs.size() && choice.stream.out.size() == op.outputs.size();
      if (!reads_all) continue;
      EXPECT_EQ(choice.stream.bytes_in, choice.stream.bytes_out) << choice.algorithm;  // nothing beside what is moved
    }
  }
}

TEST(Slices, AreFoundAgainByTheirNames) {
  const ir::Graph graph = network();
  const BuiltCostGraph made = sliced(graph);
  BuiltCostGraph again = built(graph);
  take_slices_of(made.graph, again, graph, host().compute, 1);
  EXPECT_EQ(problem::structure_hash(again.graph), problem::structure_hash(made.graph));
  ASSERT_EQ(again.slicing_of.size(), made.slicing_of.size());
  for (const auto& [at, slicing] : made.slicing_of)
    EXPECT_EQ(name_in_slices("", again.slicing_of.at(at)), name_in_slices("", slicing));
}

TEST(Slices, OfANameThatIsNoneAreNone) {
  const pt_slicing slicing{.streamed = 5, .tile = {8, 16}, .axis = {2, 1}, .loops = 2};
  const std::string name = name_in_slices("blocked", slicing);
  EXPECT_EQ(name, "blocked in slices 2:8,1:16 streaming 5");
  ASSERT_TRUE(slicing_of_name(name));
  EXPECT_EQ(name_in_slices("blocked", *slicing_of_name(name)), name);
  for (const char* text : {"blocked", " in slices ", "a in slices 1 streaming 5", "a in slices 1: streaming 5",
                           "a in slices 9:1 streaming 5", "a in slices 1:0 streaming 5", "a in slices 1:2 streaming",
                           "a in slices 1:2 streaming 5x", "a in slices 0:1,1:1,2:1,3:1,0:1 streaming 5",
                           "a in slices 1:99999999999 streaming 5"})
    EXPECT_FALSE(slicing_of_name(text)) << text;
}

TEST(Slices, AreNotOfferedWithoutAPager) {
  const ir::Graph graph = network();
  BuiltCostGraph made = built(graph);
  made.graph.device.pager.mode = problem::PagerMode::kNone;
  const size_t choices = made.graph.ops.back().choices.size();
  add_slices(made, graph, host().compute, {.budget = kBudget});
  EXPECT_EQ(made.graph.ops.back().choices.size(), choices);
  EXPECT_TRUE(made.slicing_of.empty());
}

}  // namespace
}  // namespace pantoum::cost
