#include "cost/build_cost_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/builder.h"

namespace pantoum::cost {

using problem::Choice;
using problem::Home;
using problem::Tensor;
using problem::validate;
namespace {

// x [3,5] -> relu -> reshape [5,3] -> matmul with the parameter w [3,2]
ir::Graph network() {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {3, 5}});
  const ir::ValueId w = builder.parameter("w", {ir::DType::kF32, {3, 2}}, nullptr);
  const ir::ValueId active = builder.op(ir::Kind::k_relu, "active", {x});
  const ir::ValueId y = builder.op(ir::Kind::k_matmul, "y", {builder.reshape(active, {5, 3}), w}, {{0, 0}, {}});
  graph.inputs = {x};
  graph.results = {y};
  return graph;
}

const Tensor& named(const CostGraph& graph, const std::string& name) {
  for (const Tensor& tensor : graph.tensors)
    if (tensor.name == name) return tensor;
  throw std::runtime_error("no tensor " + name);
}

DeviceProfile device(const std::string& name) {
  return load_device(name).value();
}

TEST(BuildCostGraph, LeavesAliasesOutAndRoundsUp) {
  const auto built = build_cost_graph(network(), device("host"), {});
  ASSERT_TRUE(built) << to_text(built.error());
  ASSERT_TRUE(validate(built->graph));
  ASSERT_EQ(built->graph.ops.size(), 2u);
  EXPECT_EQ(built->graph.ops[0].outputs, std::vector<int64_t>{named(built->graph, "active").id});
  EXPECT_EQ(built->graph.ops[1].inputs[0], named(built->graph, "active").id);
  EXPECT_EQ(built->graph.tensors.size(), 4u);
  for (const Tensor& tensor : built->graph.tensors) EXPECT_EQ(tensor.bytes, 512) << tensor.name;
  EXPECT_EQ(named(built->graph, "x").start, Home::kRam);
  EXPECT_EQ(named(built->graph, "y").end, Home::kRam);
  EXPECT_EQ(built->op_of.size(), 2u);
}

TEST(BuildCostGraph, CostsComeFromFlopsAndBytes) {
  const DeviceProfile profile = device("m4");
  const auto built = build_cost_graph(network(), profile, {});
  ASSERT_TRUE(built);
  const Choice& choice = built->graph.ops[1].choices[0];
  EXPECT_DOUBLE_EQ(choice.time_s, 2.0 * 5 * 3 * 2 / profile.compute.flops_per_s);
  EXPECT_DOUBLE_EQ(choice.energy_j, 2.0 * 5 * 3 * 2 * profile.compute.joules_per_flop);
  EXPECT_EQ(named(built->graph, "w").bytes, 24);
}

std::vector<std::string> algorithms_on(const std::string& name) {
  const BuiltCostGraph built = build_cost_graph(network(), device(name), {}).value();
  std::vector<std::string> algorithms;
  for (const Choice& choice : built.graph.ops[1].choices) algorithms.push_back(choice.algorithm);
  return algorithms;
}

TEST(BuildCostGraph, HostPacksAndDevicesDoNot) {
  EXPECT_THAT(algorithms_on("host"), testing::ElementsAre("blocked"));
  EXPECT_THAT(algorithms_on("m4"), testing::ElementsAre("compact"));
}

TEST(BuildCostGraph, ReluMayTakeOverItsInput) {
  const auto with = build_cost_graph(network(), device("host"), {});
  const auto without = build_cost_graph(network(), device("host"), {.in_place = false});
  EXPECT_FALSE(with->graph.ops[0].choices[0].overwrites.empty());
  EXPECT_TRUE(without->graph.ops[0].choices[0].overwrites.empty());
}

TEST(BuildCostGraph, NothingTakesOverAPinnedParameter) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId w = builder.parameter("w", {ir::DType::kF32, {3, 2}}, nullptr);
  graph.results = {builder.op(ir::Kind::k_relu, "active", {w})};
  const auto pinned = build_cost_graph(graph, device("host"), {});
  ASSERT_TRUE(validate(pinned->graph));
  EXPECT_TRUE(pinned->graph.ops[0].choices[0].overwrites.empty());
  const auto paged = build_cost_graph(graph, device("host"), {.params_in = ParamsIn::kAux});
  EXPECT_FALSE(paged->graph.ops[0].choices[0].overwrites.empty());
}

TEST(BuildCostGraph, ParametersLiveWhereTheUserSays) {
  const auto home = [](const CostGraphOptions& options) {
    const auto built = build_cost_graph(network(), device("host"), options);
    return named(built->graph, "w").start;
  };
  EXPECT_EQ(home({}), Home::kRam);
  EXPECT_EQ(home({.params_in = ParamsIn::kAux}), Home::kAux);
  EXPECT_EQ(home({.params_in = ParamsIn::kAuto, .budget = 24 * 4}), Home::kRam);
  EXPECT_EQ(home({.params_in = ParamsIn::kAuto, .budget = 24 * 4 - 1}), Home::kAux);
}

TEST(BuildCostGraph, TellsEveryOpWithoutAKernel) {
  const pt_kernel_table none{nullptr, 0};
  const auto built = build_cost_graph(network(), device("host"), {.kernels = &none});
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, "E0404");
  EXPECT_EQ(built.error().notes.size(), 2u);
}

}  // namespace
}  // namespace pantoum::cost
