#include "cost/profile_engines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cost/build_cost_graph.h"
#include "ir/builder.h"

namespace pantoum::cost {

using problem::Choice;
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kTwoClusters = R"(
name = "two"
ram = "1GiB"
[compute]
flops_per_s = 1e9
bytes_per_s = 1e9
active_w = 2
[[engine]]
name = "gpu"
flops_per_s = 1e10
active_w = 5
idle_w = 0.25
launch_s = 1e-5
handoff_s = 3e-5
[[engine]]
name = "big"
flops_per_s = 2e9
flops_per_joule = 1e8
same_bits = true
[[engine]]
name = "npu"
active_w = 1
)";

DeviceProfile two() {
  return parse_device(kTwoClusters, "two.toml").value();
}

std::string parsed(const std::string& text) {
  const auto names = parse_engine_names(text, two(), "--engines");
  return names ? testing::PrintToString(*names) : names.error().code + " " + names.error().message;
}

TEST(DeviceEngines, AreNamesOfTheProfileAndTheProcessorComesFirst) {
  EXPECT_THAT(parse_engine_names("cpu", two(), "").value(), IsEmpty());
  EXPECT_THAT(parse_engine_names("cpu,gpu", two(), "").value(), ElementsAre("cpu", "gpu"));
  EXPECT_THAT(parse_engine_names("npu,big,cpu", two(), "").value(), ElementsAre("cpu", "big", "npu"));
  EXPECT_THAT(parsed("cpu,tpu"), HasSubstr("E0115 device 'two' has no engine 'tpu'"));
  EXPECT_THAT(parsed("cpu,gpu,gpu"), HasSubstr("E0115 engine 'gpu' stands twice"));
  EXPECT_THAT(parsed("gpu,big"), HasSubstr("E0115 the processor is not among"));
  for (const char* wrong :
       {"", ",", "cpu,", ",cpu", "cpu,,gpu", "cpu, gpu", "CPU", "memory", "cpu,memory", "cpu0,cpu1"})
    EXPECT_THAT(parsed(wrong), HasSubstr("E0115")) << wrong;
  const auto one = parse_engine_names("cpu,gpu", load_device("m4").value(), "--engines");
  ASSERT_FALSE(one);
  EXPECT_THAT(one.error().help, HasSubstr("the one engine cpu"));
}

ir::Graph small_step() {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {8, 16}});
  const ir::ValueId w = builder.parameter("w", {ir::DType::kF32, {16, 32}}, nullptr);
  const ir::ValueId y = builder.op(ir::Kind::k_matmul, "y", {x, w}, {{0, 0}, {}});
  const ir::ValueId active = builder.op(ir::Kind::k_relu, "active", {y});
  graph.inputs = {x};
  graph.results = {active};
  return graph;
}

struct Built {
  ir::Graph graph = small_step();
  DeviceProfile device = two();
  BuiltCostGraph alone = build_cost_graph(graph, device, {}).value();
};

OpKey key_of(const Built& built, size_t op) {
  return op_key(built.graph, built.alone.computed_as[op][0], *built.alone.kernel_of[op][0], 1, "two");
}

EngineTimes times_of(const std::vector<std::pair<OpKey, OpSample>>& rows) {
  const auto store = ProfileStore::open(":memory:").value();
  for (const auto& [key, sample] : rows) EXPECT_TRUE(store->put_op(key, sample));
  return EngineTimes::read(*store, "two").value();
}

TEST(DeviceEngines, OfferEveryOpByTheProfilesRates) {
  Built of;
  BuiltCostGraph built = of.alone;
  const auto offers = add_profile_engines(built, of.graph, of.device, {"cpu", "gpu", "big"}, {});
  ASSERT_EQ(offers.size(), 2U);
  const auto& engines = built.graph.device.engines;
  ASSERT_EQ(engines.size(), 4U);
  EXPECT_EQ(engines[1], (problem::Engine{"gpu", 0.25, 1e-5, 3e-5}));
  EXPECT_EQ(engines[3].name, "memory");
  EXPECT_EQ(built.with_threads, 7);
  for (size_t op = 0; op < built.graph.ops.size(); ++op) {
    const auto& alone = of.alone.graph.ops[op].choices;
    const auto& choices = built.graph.ops[op].choices;
    ASSERT_GE(choices.size(), alone.size() + 2);
    EXPECT_EQ(built.kernel_of[op].size(), choices.size());
    EXPECT_EQ(built.computed_as[op].size(), choices.size());
    EXPECT_EQ(built.threads_of[op].size(), choices.size());
    for (size_t at = 0; at < alone.size(); ++at) {
      EXPECT_EQ(choices[at].time_s, alone[at].time_s);
      EXPECT_EQ(choices[at].engines.front(), "cpu");
    }
    for (size_t at = alone.size(); at < choices.size(); ++at) {
      const bool gpu = choices[at].engines.front() == "gpu";
      EXPECT_TRUE(choices[at].algorithm.ends_with(gpu ? "@gpu" : "@big")) << choices[at].algorithm;
      EXPECT_EQ(choices[at].numerics.ends_with("@gpu"), gpu);
      EXPECT_GT(choices[at].time_s, 0);
      if (gpu) {
        EXPECT_DOUBLE_EQ(choices[at].energy_j, 5 * choices[at].time_s);
      }
    }
    // Ten times the rate; the engine's memory traffic is not modelled here.
    const Work work =
        work_of(of.graph, of.alone.computed_as[op][0], alone[0].workspace_bytes, of.alone.kernel_of[op][0]);
    EXPECT_DOUBLE_EQ(choices[alone.size()].time_s, modelled_seconds(of.device.engines[0].compute, work));
  }
  EXPECT_TRUE(problem::validate(built.graph));
}

TEST(DeviceEngines, AnEngineWithTimesComputesWhatATableHas) {
  Built of;
  OpKey key = key_of(of, 0), other = key;
  key.engine = other.engine = "npu";
  other.algorithm = "theirs", other.threads = 4;
  const EngineTimes times =
      times_of({{key, {.seconds = 2e-3, .low_s = 2e-3, .high_s = 2e-3}},
                {other, {.seconds = 1e-3, .low_s = 1e-3, .high_s = 1e-3, .workspace_bytes = 1 << 20, .joules = 0.5}}});
  EXPECT_TRUE(times.has("npu"));
  EXPECT_FALSE(times.has("np"));
  EXPECT_FALSE(times.has("gpu"));
  BuiltCostGraph built = of.alone;
  const auto offers = add_profile_engines(built, of.graph, of.device, {"cpu", "npu"}, times);
  ASSERT_EQ(offers.size(), 1U);
  EXPECT_EQ(offers[0].measured, 1U);
  EXPECT_EQ(offers[0].modelled, 0U);
  const Choice& choice = built.graph.ops[0].choices.back();
  EXPECT_EQ(choice.engines.front(), "npu");
  EXPECT_EQ(choice.time_s, 1e-3);
  EXPECT_EQ(choice.energy_j, 0.5);
  EXPECT_EQ(choice.workspace_bytes, 1 << 20);
  EXPECT_EQ(built.graph.ops[1].choices.size(), of.alone.graph.ops[1].choices.size());
  // Without times and without rates it computes nothing.
  built = of.alone;
  const auto none = add_profile_engines(built, of.graph, of.device, {"cpu", "npu"}, {});
  EXPECT_EQ(none[0].measured + none[0].modelled, 0U);
  // A modelled engine with times of other shapes computes nothing either: peaks are no times beside measured ones.
  key.engine = "gpu", key.operands = "f32[1]->f32[1]";
  built = of.alone;
  const auto others = add_profile_engines(built, of.graph, of.device, {"cpu", "gpu"},
                                         times_of({{key, {.seconds = 1, .low_s = 1, .high_s = 1}}}));
  EXPECT_EQ(others[0].measured + others[0].modelled, 0U);
}

TEST(DeviceEngines, TimesOfAnotherMachineOrOfTheProcessorAreNotTheirs) {
  Built of;
  OpKey processor = key_of(of, 0), foreign = processor;
  foreign.engine = "gpu", foreign.machine = "three";
  const OpSample sample{.seconds = 1, .low_s = 1, .high_s = 1};
  const EngineTimes times = times_of({{processor, sample}, {foreign, sample}});
  EXPECT_FALSE(times.has("gpu"));
  EXPECT_FALSE(times.has("cpu"));
}

TEST(DeviceEngines, APlansGraphIsMadeAgainWithoutItsTable) {
  Built of;
  OpKey key = key_of(of, 1);
  key.engine = "npu";
  BuiltCostGraph built = of.alone, again = of.alone;
  (void)add_profile_engines(built, of.graph, of.device, {"cpu", "gpu", "npu"},
                           times_of({{key, {.seconds = 1, .low_s = 1, .high_s = 1}}}));
  ASSERT_TRUE(take_profile_engines(again, built.graph));
  EXPECT_EQ(problem::structure_hash(again.graph), problem::structure_hash(built.graph));
  EXPECT_EQ(again.kernel_of, built.kernel_of);
  EXPECT_EQ(again.threads_of, built.threads_of);
  EXPECT_EQ(again.with_threads, built.with_threads);
  // A graph of other ops, or with a kernel that is not here, changes nothing.
  for (const bool fewer : {true, false}) {
    BuiltCostGraph same = of.alone;
    CostGraph given = built.graph;
    if (fewer)
      given.ops.pop_back();
    else
      given.ops[0].choices.back().algorithm = "nobodys@gpu";
    EXPECT_FALSE(take_profile_engines(same, given));
    EXPECT_EQ(problem::structure_hash(same.graph), problem::structure_hash(of.alone.graph));
  }
}

}  // namespace
}  // namespace pantoum::cost
