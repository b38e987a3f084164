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

// x [2, channels, 12, 12] through a 3 x 3 convolution; `kind` is the op that is looked at.
BuiltCostGraph convolution_on(const std::string& name, ir::Kind kind, int64_t channels, int64_t stride = 1) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::Attrs attrs{{stride, stride, 1, 1, 1, 1, 1, 1, 1}, {}};
  const int64_t extent = (12 - 1) / stride + 1;
  const ir::TensorType image{ir::DType::kF32, {2, channels, 12, 12}}, made{ir::DType::kF32, {2, 16, extent, extent}},
      weight{ir::DType::kF32, {16, channels, 3, 3}};
  const ir::ValueId x = builder.input("x", image), w = builder.input("w", weight), dy = builder.input("dy", made);
  graph.inputs = {x, w, dy};
  const bool is_dx = kind == ir::Kind::k_conv2d_dx, is_dw = kind == ir::Kind::k_conv2d_dw;
  graph.results = {is_dx   ? builder.op(kind, "y", {dy, w}, attrs, {image})
                   : is_dw ? builder.op(kind, "y", {x, dy}, attrs, {weight})
                           : builder.op(kind, "y", {x, w}, attrs)};
  return build_cost_graph(graph, device(name), {}).value();
}

std::vector<std::string> names_of(const BuiltCostGraph& built) {
  std::vector<std::string> names;
  for (const Choice& choice : built.graph.ops[0].choices) names.push_back(choice.algorithm + "/" + choice.numerics);
  return names;
}

// The first choice says the class of numerics that plans keep to.
TEST(BuildCostGraph, WinogradIsOfferedBesideTheFirst) {
  for (const ir::Kind kind : {ir::Kind::k_conv2d, ir::Kind::k_conv2d_dx, ir::Kind::k_conv2d_dw}) {
    EXPECT_THAT(names_of(convolution_on("host", kind, 16)),
                testing::ElementsAre("blocked/ascending", "winograd/winograd", "winograd4/winograd4"));
    EXPECT_EQ(names_of(convolution_on("m4", kind, 16)).front(), "compact/ascending");
    EXPECT_THAT(names_of(convolution_on("m4", kind, 16)), testing::Contains("winograd_compact/winograd"));
    EXPECT_THAT(names_of(convolution_on("m4", kind, 16, 2)), testing::ElementsAre("compact/ascending"));
    EXPECT_THAT(names_of(convolution_on("m4", kind, 1)), testing::ElementsAre("compact/ascending"));
  }
}

// Transforms cost: with many channels the products decide, with few there is no gain.
TEST(BuildCostGraph, WinogradCostsItsProductsAndItsTransforms) {
  for (const ir::Kind kind : {ir::Kind::k_conv2d, ir::Kind::k_conv2d_dx, ir::Kind::k_conv2d_dw}) {
    const auto share = [&](int64_t channels, const std::string& numerics) {
      const BuiltCostGraph built = convolution_on("m4", kind, channels);
      const std::vector<Choice>& choices = built.graph.ops[0].choices;
      double least = 2;
      for (const Choice& choice : choices)
        if (choice.numerics == numerics) least = std::min(least, choice.energy_j / choices[0].energy_j);
      return least;
    };
    EXPECT_GT(share(2, "winograd"), 0.9);
    EXPECT_GT(share(64, "winograd"), 16.0 / 36);
    EXPECT_LT(share(64, "winograd"), 0.85);
    EXPECT_GT(share(64, "winograd4"), 36.0 / 144);
    EXPECT_LT(share(64, "winograd4"), share(64, "winograd"));
  }
}

// x [2, 16, extent, extent] through a depthwise 3 x 3 convolution.
std::vector<std::string> depthwise_on(const DeviceProfile& device, int64_t extent, int64_t stride = 1) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::Attrs attrs{{stride, stride, 1, 1, 1, 1, 1, 1, 16}, {}};
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {2, 16, extent, extent}}),
                    w = builder.input("w", {ir::DType::kF32, {16, 1, 3, 3}});
  graph.inputs = {x, w};
  graph.results = {builder.op(ir::Kind::k_conv2d, "y", {x, w}, attrs)};
  return names_of(build_cost_graph(graph, device, {}).value());
}

// A faster kernel for a workspace, then the one without; where software computes floats, and with more RAM than
// microcontrollers have, that one alone.
TEST(BuildCostGraph, StripsAreOfferedWhereTheyTakeFewerInstructions) {
  const auto both = testing::ElementsAre("shift_compact/ascending", "compact/ascending");
  const auto direct = testing::ElementsAre("compact/ascending");
  for (const int64_t extent : {4, 7, 14, 28}) EXPECT_THAT(depthwise_on(device("m4"), extent), both) << extent;
  EXPECT_THAT(depthwise_on(device("m4"), 333), direct);
  EXPECT_THAT(depthwise_on(device("m4"), 14, 2), direct);
  for (const char* name : {"m0", "a72", "tx2"}) EXPECT_THAT(depthwise_on(device(name), 7), direct) << name;
}

// A back end's first, then what it has beside it; the portable kernels where it has nothing.
TEST(BuildCostGraph, WhatABackEndListsComesAfterItsFirst) {
  const auto row = [](int algorithm, const char* name, size_t (*workspace)(const pt_call*)) {
    return pt_kernel{PT_OP_conv2d, PT_F32,  0,        static_cast<uint16_t>(algorithm), name, name,
                     nullptr,      nullptr, workspace};
  };
  const auto none = [](const pt_call*) { return PT_NO_KERNEL; };
  const auto some = [](const pt_call*) -> size_t { return 64; };
  const pt_kernel all[] = {row(0, "reference", nullptr), row(21, "winograd", some),    row(64, "fast:winograd", some),
                           row(65, "fast", some),        row(80, "fast:second", some), row(81, "fast:third", none)},
                  absent[] = {row(0, "reference", nullptr), row(21, "winograd", some), row(65, "fast", none),
                              row(80, "fast:second", none)};
  const auto names = [](const pt_kernel_table& table) {
    ir::Graph graph;
    ir::Builder builder(graph);
    const ir::ValueId x = builder.input("x", {ir::DType::kF32, {2, 4, 12, 12}}),
                      w = builder.input("w", {ir::DType::kF32, {4, 4, 3, 3}});
    graph.inputs = {x, w};
    graph.results = {builder.op(ir::Kind::k_conv2d, "y", {x, w}, {{1, 1, 1, 1, 1, 1, 1, 1, 1}, {}})};
    return names_of(build_cost_graph(graph, device("host"), {.kernels = &table}).value());
  };
  EXPECT_THAT(names({all, std::size(all)}),
              testing::ElementsAre("fast/fast", "fast:winograd/fast:winograd", "fast:second/fast:second"));
  EXPECT_THAT(names({absent, std::size(absent)}), testing::ElementsAre("reference/reference", "winograd/winograd"));
}

TEST(BuildCostGraph, NoChoiceNeedsMoreWorkspaceForNothing) {
  for (const int64_t channels : {2, 8, 16, 64, 200}) {
    for (const ir::Kind kind : {ir::Kind::k_conv2d, ir::Kind::k_conv2d_dx, ir::Kind::k_conv2d_dw}) {
      const BuiltCostGraph built = convolution_on("m4", kind, channels);
      for (const Choice& one : built.graph.ops[0].choices)
        for (const Choice& other : built.graph.ops[0].choices)
          EXPECT_FALSE(&one != &other && one.numerics == other.numerics && one.time_s >= other.time_s &&
                       one.workspace_bytes >= other.workspace_bytes)
              << one.algorithm << " " << other.algorithm << " " << channels;
    }
  }
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
