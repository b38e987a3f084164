
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/build_cost_graph.h"
#include "ir/builder.h"

namespace pantoum::cost {

using problem::Home;
using problem::Tensor;
using problem::validate;
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// y = relu(frozen) + x, and trained - lr * x: a parameter that is updated, one that is not and a constant.
ir::Graph network() {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::TensorType type{ir::DType::kF32, {4, 4}};
  const ir::ValueId x = builder.input("x", type);
  const ir::ValueId frozen = builder.parameter("frozen", type, nullptr);
  const ir::ValueId constant = builder.parameter("constant", {ir::DType::kF32, {3}}, nullptr);
  const ir::ValueId trained = builder.parameter("trained", type, nullptr);
  graph.value(constant).role = ir::Role::kConstant;
  const ir::ValueId active = builder.op(ir::Kind::k_relu, "active", {frozen});
  const ir::ValueId y = builder.op(ir::Kind::k_add, "y", {active, x});
  const ir::ValueId updated = builder.op(ir::Kind::k_sgd, "update", {trained, x}, {{0}, {0, 0}});
  graph.value(trained).next = updated;
  graph.inputs = {x};
  graph.results = {y};
  return graph;
}

DeviceProfile device(Bytes rom) {
  DeviceProfile profile = load_device("m4").value();
  profile.rom_bytes = rom;
  return profile;
}

const Tensor& named(const CostGraph& graph, const std::string& name) {
  for (const Tensor& tensor : graph.tensors)
    if (tensor.name == name) return tensor;
  throw std::runtime_error("no tensor " + name);
}

TEST(ReadInPlace, TakesWhatNoStepChanges) {
  const ir::Graph graph = network();
  EXPECT_THAT(read_in_place({&graph}, device(1 << 20)), ElementsAre("constant", "frozen"));
  EXPECT_THAT(read_in_place({&graph}, load_device("host").value()), IsEmpty());
}

TEST(ReadInPlace, TakesInOrderWhatFits) {
  const ir::Graph graph = network();
  EXPECT_THAT(read_in_place({&graph}, device(64 + 16)), ElementsAre("constant", "frozen"));
  EXPECT_THAT(read_in_place({&graph}, device(64 + 15)), ElementsAre("frozen"));
  EXPECT_THAT(read_in_place({&graph}, device(63)), ElementsAre("constant"));
  EXPECT_THAT(read_in_place({&graph}, device(15)), IsEmpty());
}

TEST(ReadInPlace, LeavesWhatAnotherProgramChangesOrReturns) {
  const ir::Graph graph = network();
  ir::Graph returns = graph, changes = graph;
  returns.results = {1};
  changes.value(2).next = 0;
  EXPECT_THAT(read_in_place({&graph, &returns}, device(1 << 20)), ElementsAre("constant"));
  EXPECT_THAT(read_in_place({&graph, &changes}, device(1 << 20)), ElementsAre("frozen"));
}

TEST(ReadInPlace, TensorsThereTakeNoRamAndAreNotOverwritten) {
  const ir::Graph graph = network();
  const auto built = build_cost_graph(graph, device(1 << 20), {.in_rom = read_in_place({&graph}, device(1 << 20))});
  ASSERT_TRUE(built) << to_text(built.error());
  ASSERT_TRUE(validate(built->graph));
  const Tensor& frozen = named(built->graph, "frozen");
  EXPECT_EQ(frozen.start, Home::kRom);
  EXPECT_EQ(frozen.end, Home::kNone);
  EXPECT_FALSE(frozen.pinned);
  EXPECT_EQ(named(built->graph, "trained").start, Home::kRam);
  EXPECT_EQ(named(built->graph, "x").start, Home::kRam);
  EXPECT_THAT(built->graph.ops[0].choices[0].overwrites, IsEmpty());
  const auto paged = build_cost_graph(graph, device(0), {.params_in = ParamsIn::kAux});
  EXPECT_FALSE(paged->graph.ops[0].choices[0].overwrites.empty());
}

TEST(ReadInPlace, DoesNotCrowdTheRam) {
  const ir::Graph graph = network();
  const auto home = [&](const std::set<std::string>& in_rom) {
    const CostGraphOptions options{.params_in = ParamsIn::kAuto, .budget = 64 * 4, .in_rom = in_rom};
    return named(build_cost_graph(graph, device(0), options)->graph, "trained").start;
  };
  EXPECT_EQ(home({}), Home::kAux);
  EXPECT_EQ(home({"constant", "frozen"}), Home::kRam);
}

}  // namespace
}  // namespace pantoum::cost
