#include "cost/host_engines.h"

#include <gtest/gtest.h>

namespace pantoum::cost {
namespace {

TEST(HostEngines, AreListsOfProcessors) {
  const auto of = [](const std::string& text) {
    std::string found;
    const auto engines = parse_engines(text, "--engines");
    if (!engines) return engines.error().code;
    for (const HostEngine& engine : *engines)
      found += engine.name + (engine.opencl ? "=" + std::to_string(*engine.opencl) : ":" + std::to_string(engine.threads)) + " ";
    return found;
  };
  EXPECT_EQ(of("cpu"), "");
  EXPECT_EQ(of("cpu0,cpu1"), "cpu0:1 cpu1:1 ");
  EXPECT_EQ(of("cpu0-3,cpu4-7,cpu9"), "cpu0-3:4 cpu4-7:4 cpu9:1 ");
  EXPECT_EQ(of("cpu,opencl"), "cpu:0 opencl0=0 ");
  EXPECT_EQ(of("cpu0,opencl3,cpu2-3"), "cpu0:1 opencl3=3 cpu2-3:2 ");
  for (const char* wrong : {"opencl", "opencl,cpu", "cpu,opencl,opencl1", "cpu,opencl-1", "cpu,opencl0x", "cpu,opencl99999",
                            "cpu,OpenCL", "cpu,cpu,opencl", "cpu0,cpu,opencl", "cpu,",
                            "", ",", "cpu0", "cpu0,", ",cpu0", "cpu0,cpu0", "cpu0-2,cpu1", "cpu2-1,cpu0", "cpu,cpu1",
                            "gpu0,cpu1", "cpu0 ,cpu1", "cpu0,cpu4096", "cpu0,cpu99999999999", "cpu0,cpu1-",
                            "cpu0,cpu1,cpu2,cpu3,cpu4,cpu5,cpu6,cpu7,cpu8"})
    EXPECT_EQ(of(wrong), "E0115") << wrong;
}

// One op of two algorithms, each on two threads and on one.
BuiltCostGraph two_algorithms() {
  BuiltCostGraph built;
  built.graph.device.engines = {{.name = "cpu", .idle_w = 3}};
  built.graph.ops.push_back({.id = 0, .name = "add"});
  for (const double seconds : {1.0, 2.0, 1.5, 3.0}) built.graph.ops[0].choices.push_back({.time_s = seconds});
  built.kernel_of = {{nullptr, nullptr, nullptr, nullptr}};
  built.threads_of = {{0, 0, 1, 1}};
  return built;
}

TEST(HostEngines, OfferEveryChoiceOnEnginesOfItsThreads) {
  ir::Graph graph;
  ir::Op op;
  op.kind = ir::Kind::k_add;
  for (int value = 0; value < 3; ++value) {
    graph.values.push_back({});
    graph.values.back().type = {ir::DType::kF32, {1 << 20}};
  }
  op.inputs = {0, 1};
  op.outputs = {2};
  graph.ops.push_back(op);
  BuiltCostGraph built = two_algorithms();
  built.computed_as = {{op, op, op, op}};
  DeviceProfile device;
  device.compute.bytes_per_s = 0;
  add_engines(built, graph, device, *parse_engines("cpu0,cpu1", ""), 1e-5);
  const auto& choices = built.graph.ops[0].choices;
  const std::vector<std::string> all{"cpu0", "cpu1"}, first{"cpu0"}, second{"cpu1"};
  ASSERT_EQ(choices.size(), 6U);
  EXPECT_EQ(choices[0].engines, all);
  EXPECT_EQ(choices[1].engines, all);
  EXPECT_EQ(choices[2].engines, first);
  EXPECT_EQ(choices[3].engines, first);
  EXPECT_EQ(choices[4].engines, second);
  EXPECT_EQ(choices[5].engines, second);
  EXPECT_EQ(choices[4].time_s, 1.5);
  EXPECT_EQ(choices[5].time_s, 3.0);
  EXPECT_EQ(built.with_threads, 3);
  EXPECT_EQ(built.graph.device.engines[0].idle_w, 3);
  EXPECT_EQ(built.threads_of[0], (std::vector<int>{0, 0, 1, 1, 1, 1}));

  // 12 MiB in a second are more than half of 20 MB/s, and less than half of 30; a cache that holds them changes that.
  BuiltCostGraph slow = two_algorithms(), quick = two_algorithms(), cached = two_algorithms();
  for (BuiltCostGraph* each : {&slow, &quick, &cached}) each->computed_as = {{op, op, op, op}};
  device.compute.bytes_per_s = 20e6;
  add_engines(slow, graph, device, *parse_engines("cpu0,cpu1", ""), 1e-5);
  EXPECT_EQ(slow.graph.ops[0].choices[0].engines, (std::vector<std::string>{"cpu0", "cpu1", "memory"}));
  EXPECT_EQ(slow.graph.ops[0].choices[1].engines, all);  // in two seconds
  device.compute.bytes_per_s = 30e6;
  add_engines(quick, graph, device, *parse_engines("cpu0,cpu1", ""), 1e-5);
  EXPECT_EQ(quick.graph.ops[0].choices[0].engines, all);
  device.compute.bytes_per_s = 20e6;
  device.compute.caches = {{.bytes = 1 << 30, .bytes_per_s = 1e9}};
  add_engines(cached, graph, device, *parse_engines("cpu0,cpu1", ""), 1e-5);
  EXPECT_EQ(cached.graph.ops[0].choices[0].engines, all);
}

TEST(HostEngines, OnAnotherClusterTakeItsSeconds) {
  ir::Graph graph;
  ir::Op op;
  op.kind = ir::Kind::k_add;
  graph.values.assign(3, {});
  for (ir::Value& value : graph.values) value.type = {ir::DType::kF32, {1 << 20}};
  op.inputs = {0, 1};
  op.outputs = {2};
  graph.ops.push_back(op);
  BuiltCostGraph built = two_algorithms();
  built.computed_as = {{op, op, op, op}};
  for (problem::Choice& choice : built.graph.ops[0].choices) choice.energy_j = 2 * choice.time_s;
  DeviceProfile device;
  device.compute.bytes_per_s = 20e6;
  const std::vector<EngineSeconds> seconds{{}, {{9, 9, 3.5, 0.5}}};
  add_engines(built, graph, device, *parse_engines("cpu0,cpu1", ""), 1e-5, {}, seconds);
  const auto& choices = built.graph.ops[0].choices;
  ASSERT_EQ(choices.size(), 6U);
  EXPECT_EQ(choices[0].time_s, 1.0) << "all together: as measured";
  EXPECT_EQ(choices[2].time_s, 1.5);
  EXPECT_EQ(choices[4].time_s, 3.5);
  EXPECT_EQ(choices[4].energy_j, 7.0);
  EXPECT_EQ(choices[4].engines, (std::vector<std::string>{"cpu1"}));
  EXPECT_EQ(choices[5].time_s, 0.5);
  EXPECT_EQ(choices[5].engines, (std::vector<std::string>{"cpu1", "memory"})) << "24 MB/s";
}

TEST(HostEngines, OfferNoGangsWhereNoneAreWanted) {
  const pt_kernel quick{}, small{};
  const auto offered = [&](BuiltCostGraph built) {
    ir::Graph graph;
    ir::Op op;
    op.kind = ir::Kind::k_add;
    graph.values.assign(3, {});
    for (ir::Value& value : graph.values) value.type = {ir::DType::kF32, {1 << 20}};
    op.inputs = {0, 1};
    op.outputs = {2};
    graph.ops.push_back(op);
    built.computed_as = {std::vector(built.threads_of[0].size(), op)};
    DeviceProfile device;
    device.compute.bytes_per_s = 12e6;
    add_engines(built, graph, device, *parse_engines("cpu0,cpu1", ""), 1e-5);
    return built;
  };
  BuiltCostGraph built = two_algorithms();
  built.kernel_of = {{&quick, &small, &quick, &small}};
  for (const size_t at : {2, 3}) built.graph.ops[0].choices[at].numerics = "of one";
  built = offered(std::move(built));
  BuiltCostGraph same_bits = built;
  const Result<void> refused = take_out_gangs(same_bits, false);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code + " " + refused.error().where, "E0117 --no-gangs");
  ASSERT_TRUE(take_out_gangs(built, true).has_value());
  const auto& choices = built.graph.ops[0].choices;
  ASSERT_EQ(choices.size(), 6U);
  EXPECT_EQ(choices[0].time_s, 1.5);
  EXPECT_EQ(choices[1].time_s, 3.0);
  EXPECT_EQ(choices[0].engines, (std::vector<std::string>{"cpu0", "memory"}));
  EXPECT_EQ(choices[1].engines, (std::vector<std::string>{"cpu0"}));
  EXPECT_EQ(choices[4].engines, (std::vector<std::string>{"cpu1", "memory"}));
  EXPECT_EQ(built.threads_of[0], std::vector<int>(6, 1));

  BuiltCostGraph alone = two_algorithms();  // no kernel is offered on one thread
  alone.graph.ops[0].choices.resize(2), alone.kernel_of[0].resize(2), alone.threads_of[0].resize(2);
  alone = offered(std::move(alone));
  EXPECT_FALSE(take_out_gangs(alone, true).has_value());
}

TEST(HostEngines, OfferADevicesKernelsBehindAllOthers) {
  ir::Graph graph;
  ir::Op op;
  op.kind = ir::Kind::k_add;
  for (int value = 0; value < 3; ++value) {
    graph.values.push_back({});
    graph.values.back().type = {ir::DType::kF32, {1 << 20}};
  }
  op.inputs = {0, 1};
  op.outputs = {2};
  graph.ops.push_back(op);
  ir::Op other = op;  // an alternative that computes the same of other inputs
  other.inputs = {1, 0};
  BuiltCostGraph built = two_algorithms();
  built.computed_as = {{op, other, op, other}};
  built.graph.device.align_bytes = 128;
  for (problem::Choice& choice : built.graph.ops[0].choices) choice.numerics = "fixed", choice.energy_j = 4;
  const pt_kernel row{.op = PT_OP_add, .dtype = PT_F32, .engine = 1, .algorithm = 80, .algorithm_name = "opencl", .numerics = "own",
                      .workspace_bytes = [](const pt_call*) { return size_t{100}; }};
  const pt_kernel_table table{&row, 1};
  std::vector<DeviceWay> ways = ways_on({&table, nullptr, 80, 1}, graph, built, {});
  ASSERT_EQ(ways.size(), 2U) << "one for each way to read operands";
  EXPECT_EQ(ways[1].like, 1U);
  EXPECT_EQ(ways[0].workspace, 128);
  EXPECT_EQ(ways[0].seconds, 1.0) << "as long as on the threads, until it is measured";
  EXPECT_TRUE(ways_on({&table, nullptr, 80, 1}, graph, built, {{"add", "fixed"}}).empty()) << "of another class";
  EXPECT_TRUE(ways_on({&table, nullptr, 80, 2}, graph, built, {}).empty());
  ways[0].seconds = 0.25;
  DeviceProfile device;
  device.compute.bytes_per_s = 20e6;
  add_engines(built, graph, device, *parse_engines("cpu0,opencl2", ""), 1e-5, ways);
  const auto& choices = built.graph.ops[0].choices;
  ASSERT_EQ(choices.size(), 6U);
  EXPECT_EQ(choices[2].engines, (std::vector<std::string>{"cpu0"}));
  EXPECT_EQ(choices[4].engines, (std::vector<std::string>{"opencl2", "memory"}));
  EXPECT_EQ(choices[4].algorithm, "opencl");
  EXPECT_EQ(choices[4].numerics, "own");
  EXPECT_EQ(choices[4].workspace_bytes, 128);
  EXPECT_EQ(choices[4].time_s, 0.25);
  EXPECT_EQ(choices[4].energy_j, 1);
  EXPECT_EQ(choices[5].engines, (std::vector<std::string>{"opencl2"}));
  EXPECT_EQ(built.kernel_of[0][4], &row);
  EXPECT_EQ(built.computed_as[0][5].inputs, other.inputs);
  EXPECT_EQ(built.with_threads, 1);
  EXPECT_EQ(built.computing, 3);
}

}  // namespace
}  // namespace pantoum::cost
