
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "cost/build_cost_graph.h"
#include "ir/builder.h"

namespace pantoum::cost {

using problem::Choice;
namespace {

using testing::ElementsAre;

const Work kWork{.flops = 1e9, .bytes = 1e9, .footprint = 1e9};

DeviceProfile leveled(std::vector<ClockLevel> clocks) {
  DeviceProfile device = load_device("m4").value();
  device.compute = {.flops_per_s = 1e9, .bytes_per_s = 1e9, .op_overhead_s = 0};
  device.clocks = std::move(clocks);
  return device;
}

std::vector<std::string> names(const std::vector<Choice>& choices) {
  std::vector<std::string> found;
  for (const Choice& choice : choices) found.push_back(choice.algorithm);
  return found;
}

const Choice kDirect{.algorithm = "direct", .numerics = "ascending", .time_s = 2, .energy_j = 7, .workspace_bytes = 8};

TEST(ClockLevels, WithoutLevelsAChoiceStays) {
  const std::vector<Choice> choices = at_clock_levels(kDirect, kWork, leveled({}));
  ASSERT_THAT(names(choices), ElementsAre("direct"));
  EXPECT_EQ(choices[0].energy_j, 7);
}

TEST(ClockLevels, EachIsAChoiceOfTheSameBitsAndRam) {
  const std::vector<Choice> choices =
      at_clock_levels(kDirect, kWork, leveled({{"slow", 0.25, 0.5, 0.5}, {"fast", 1, 1, 3}}));
  ASSERT_THAT(names(choices), ElementsAre("direct@fast", "direct@slow"));
  EXPECT_DOUBLE_EQ(choices[0].time_s, 2);
  EXPECT_DOUBLE_EQ(choices[0].energy_j, 6);
  EXPECT_DOUBLE_EQ(choices[1].time_s, 6);  // 1 s of flops becomes 4, 1 s of bytes becomes 2
  EXPECT_DOUBLE_EQ(choices[1].energy_j, 3);
  for (const Choice& choice : choices) {
    EXPECT_EQ(choice.numerics, "ascending");
    EXPECT_EQ(choice.workspace_bytes, 8);
  }
}

TEST(ClockLevels, DominatedOnesAreLeftOut) {
  const std::vector<Choice> choices = at_clock_levels(
      kDirect, kWork, leveled({{"wasteful", 0.9, 1, 9}, {"fast", 1, 1, 3}, {"slow", 0.5, 0.5, 1}, {"same", 1, 1, 3}}));
  EXPECT_THAT(names(choices), ElementsAre("direct@fast", "direct@slow"));
}

TEST(ClockLevels, NoneOfRandomOnesIsDominatedNorIsAnyThatCountsLost) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> factor(0.1, 2);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<ClockLevel> clocks;
    for (int level = 0; level < 8; ++level)
      clocks.push_back({std::to_string(level), factor(random), factor(random), factor(random)});
    const DeviceProfile device = leveled(clocks);
    const std::vector<Choice> kept = at_clock_levels(kDirect, kWork, device);
    for (size_t at = 1; at < kept.size(); ++at) {
      EXPECT_GT(kept[at].time_s, kept[at - 1].time_s);
      EXPECT_LT(kept[at].energy_j, kept[at - 1].energy_j);
    }
    for (const ClockLevel& level : clocks) {
      DeviceProfile alone = device;
      alone.clocks = {level};
      const Choice choice = at_clock_levels(kDirect, kWork, alone)[0];
      EXPECT_TRUE(std::any_of(kept.begin(), kept.end(), [&](const Choice& other) {
        return other.time_s <= choice.time_s && other.energy_j <= choice.energy_j;
      }));
    }
  }
}

TEST(ClockLevels, CostGraphsNameKernelAndOpOfEachLevel) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {5, 3}});
  const ir::ValueId w = builder.parameter("w", {ir::DType::kF32, {3, 2}}, nullptr);
  graph.inputs = {x};
  graph.results = {builder.op(ir::Kind::k_matmul, "y", {x, w}, {{0, 0}, {}})};
  const BuiltCostGraph built = build_cost_graph(graph, leveled({{"fast", 1, 1, 3}, {"slow", 0.5, 0.5, 1}}), {}).value();
  ASSERT_TRUE(validate(built.graph));
  ASSERT_EQ(built.graph.ops.size(), 1u);
  EXPECT_THAT(names(built.graph.ops[0].choices), ElementsAre("compact@fast", "compact@slow"));
  ASSERT_EQ(built.kernel_of[0].size(), 2u);
  EXPECT_EQ(built.kernel_of[0][0], built.kernel_of[0][1]);
  EXPECT_EQ(built.computed_as[0].size(), 2u);
}

}  // namespace
}  // namespace pantoum::cost
