// A step that is run for its ops' times: its tensors must not lie over one another.
#include "cost/step_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <map>
#include <random>

#include "ir/builder.h"

namespace pantoum::cost {
namespace {

using testing::Each;
using testing::Gt;

DeviceProfile bench_device() {
  DeviceProfile device;
  device.device.name = "bench";
  device.compute = {.flops_per_s = 1e9, .bytes_per_s = 1e9, .op_overhead_s = 1e-6};
  device.host = true;
  return device;
}

// What kernels read: of each call, each input's number, or kTorn where it is not one number throughout.
constexpr uint32_t kTorn = UINT32_MAX;
std::vector<std::vector<uint32_t>> read_numbers;

size_t count_of(const pt_tensor& tensor) {
  size_t count = 1;
  for (unsigned dim = 0; dim < tensor.rank; ++dim) count *= tensor.dims[dim];
  return count;
}

uint32_t number_in(const pt_tensor& tensor) {
  const auto* words = static_cast<const uint32_t*>(tensor.data);
  const size_t count = count_of(tensor);
  return std::all_of(words, words + count, [&](uint32_t word) { return word == words[0]; }) ? words[0] : kTorn;
}

// Writes its call's number all over its outputs and its workspace.
pt_status stamp(const pt_call* call) {
  const auto number = static_cast<uint32_t>(read_numbers.size());
  std::vector<uint32_t> read;
  for (unsigned input = 0; input < call->input_count; ++input) read.push_back(number_in(call->inputs[input]));
  read_numbers.push_back(std::move(read));
  constexpr size_t kWorkspace = 64;
  if (call->workspace != nullptr) std::memset(call->workspace, 0xEE, kWorkspace);
  for (unsigned output = 0; output < call->output_count; ++output)
    std::fill_n(static_cast<uint32_t*>(call->outputs[output].data), count_of(call->outputs[output]), number);
  return PT_OK;
}

pt_status fails(const pt_call*) {
  return PT_E_KERNEL;
}

pt_kernel kernel_of(pt_status (*submit)(const pt_call*)) {
  pt_kernel kernel{};
  kernel.submit = submit;
  return kernel;
}

void compute_by(BuiltCostGraph& built, const pt_kernel& kernel) {
  for (std::vector<const pt_kernel*>& of : built.kernel_of) std::fill(of.begin(), of.end(), &kernel);
}

std::vector<size_t> first_choices(const BuiltCostGraph& built) {
  return std::vector<size_t>(built.graph.ops.size(), 0);
}

StepLimits limits_of(Bytes memory) {
  return {.memory = memory, .slice = 0};
}

// Sums and activations of several sizes, some results read again much later, and the update of a parameter among them.
ir::Graph random_graph(unsigned seed) {
  ir::Graph graph;
  ir::Builder builder(graph);
  std::mt19937 random(seed);
  const auto below = [&](size_t count) { return random() % count; };
  std::map<int64_t, std::vector<ir::ValueId>> made;
  for (const int64_t rows : {1, 3, 8})
    made[rows].push_back(builder.input("x" + std::to_string(rows), {ir::DType::kF32, {rows, 16}}));
  const ir::ValueId w = builder.parameter("w", {ir::DType::kF32, {8, 16}}, nullptr);
  for (int op = 0; op < 24; ++op) {
    if (op == 12) {
      const ir::ValueId next = builder.op(ir::Kind::k_add, "w#2", {w, made[8].back()}, {});
      graph.values[static_cast<size_t>(w)].next = next;
    }
    auto of = made.begin();
    std::advance(of, below(made.size()));
    std::vector<ir::ValueId>& values = of->second;
    const auto pick = [&] { return below(3) == 0 ? values[below(values.size())] : values.back(); };
    const std::string name = "op" + std::to_string(op);
    values.push_back(below(2) == 0 ? builder.op(ir::Kind::k_add, name, {pick(), pick()}, {})
                                   : builder.op(ir::Kind::k_relu, name, {pick()}, {}));
  }
  for (const auto& [rows, values] : made) graph.results.push_back(values.back());
  return graph;
}

TEST(SecondsInStep, EveryOpFindsWhatWasMadeForIt) {
  const pt_kernel kernel = kernel_of(&stamp);
  for (unsigned seed = 0; seed < 200; ++seed) {
    const ir::Graph graph = random_graph(seed);
    BuiltCostGraph built = build_cost_graph(graph, bench_device(), {}).value();
    compute_by(built, kernel);
    for (problem::Op& op : built.graph.ops)
      if (op.id % 3 == 0) op.choices.front().workspace_bytes = 64;
    read_numbers.clear();
    ASSERT_TRUE(seconds_in_step(graph, built, first_choices(built), limits_of(1 << 20))) << seed;
    const size_t ops = built.graph.order.size();
    ASSERT_GE(read_numbers.size(), 4 * ops) << "one round to warm up, three to measure";
    std::map<int64_t, uint32_t> number_of;  // by tensor: the call that made it, of the last two rounds
    for (size_t call = read_numbers.size() - 2 * ops; call < read_numbers.size(); ++call) {
      const auto op = static_cast<size_t>(built.graph.order[call % ops]);
      if (call % ops == 0) {
        std::map<int64_t, uint32_t> kept;  // of what the round before made, the new parameter
        for (const problem::Tensor& tensor : built.graph.tensors)
          if (number_of.contains(tensor.next)) kept[tensor.id] = number_of.at(tensor.next);
        ASSERT_EQ(kept.size(), number_of.empty() ? 0U : 1U);
        number_of = std::move(kept);
      }
      const std::vector<int64_t>& inputs = built.graph.ops[op].inputs;
      for (size_t input = 0; input < inputs.size(); ++input) {
        const auto made = number_of.find(inputs[input]);
        if (made == number_of.end()) continue;  // fed
        ASSERT_EQ(read_numbers[call][input], made->second) << "seed " << seed << ", op " << op;
      }
      for (const int64_t output : built.graph.ops[op].outputs) number_of[output] = static_cast<uint32_t>(call);
    }
  }
}

TEST(SecondsInStep, TellsEveryOpButOptionalOnes) {
  const ir::Graph graph = random_graph(1);
  BuiltCostGraph built = build_cost_graph(graph, bench_device(), {}).value();
  EXPECT_THAT(seconds_in_step(graph, built, first_choices(built), limits_of(1 << 20)).value(), Each(Gt(0)));
  built.graph.ops.back().optional = true;
  std::vector<Seconds> seconds = seconds_in_step(graph, built, first_choices(built), limits_of(1 << 20)).value();
  EXPECT_EQ(seconds.back(), 0);
  seconds.pop_back();
  EXPECT_THAT(seconds, Each(Gt(0)));
}

// The result of an optional op is an input of the choices that read it in place of another.
TEST(SecondsInStep, LeavesOutWhatOnlyOtherChoicesRead) {
  const pt_kernel kernel = kernel_of(&stamp);
  const ir::Graph graph = random_graph(3);
  BuiltCostGraph built = build_cost_graph(graph, bench_device(), {}).value();
  compute_by(built, kernel);
  const auto tap = static_cast<int64_t>(built.graph.tensors.size());
  built.graph.tensors.push_back({.id = tap, .name = "tap", .bytes = 4096});
  built.value_of.push_back(built.value_of.front());
  problem::Op optional = built.graph.ops.front();
  optional.id = static_cast<int64_t>(built.graph.ops.size()), optional.outputs = {tap}, optional.optional = true;
  built.graph.order.insert(built.graph.order.begin() + 1, optional.id);
  built.graph.ops.push_back(std::move(optional));
  built.graph.ops[5].inputs.push_back(tap);
  const std::vector<Seconds> seconds = seconds_in_step(graph, built, first_choices(built), limits_of(1 << 20)).value();
  EXPECT_EQ(seconds.back(), 0);
  EXPECT_EQ(std::count(seconds.begin(), seconds.end(), 0), 1);
}

TEST(SecondsInStep, IsNoneWithoutMemoryOrTimeOrWhereAKernelFails) {
  const ir::Graph graph = random_graph(2);
  BuiltCostGraph built = build_cost_graph(graph, bench_device(), {}).value();
  EXPECT_FALSE(seconds_in_step(graph, built, first_choices(built), limits_of(1)));
  StepLimits limits = limits_of(1 << 20);
  limits.deadline = std::chrono::steady_clock::now();
  EXPECT_FALSE(seconds_in_step(graph, built, first_choices(built), limits));
  limits = limits_of(1 << 20);
  limits.expected = 10, limits.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  EXPECT_FALSE(seconds_in_step(graph, built, first_choices(built), limits)) << "four rounds of ten seconds";
  std::stop_source stop;
  stop.request_stop();
  limits = limits_of(1 << 20);
  limits.stop = stop.get_token();
  EXPECT_FALSE(seconds_in_step(graph, built, first_choices(built), limits));
  const pt_kernel kernel = kernel_of(&fails);
  compute_by(built, kernel);
  EXPECT_FALSE(seconds_in_step(graph, built, first_choices(built), limits_of(1 << 20)));
}

constexpr Seconds kShort = 0.5e-3, kMiddle = 3e-3, kLong = 10e-3;
bool is_disturbed = false;

pt_status lasts(Seconds seconds) {
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
  }
  return PT_OK;
}

pt_status is_longer_when_disturbed(const pt_call*) {
  return lasts(is_disturbed ? kLong : kShort);
}

pt_status is_shorter_when_disturbed(const pt_call*) {
  return lasts(is_disturbed ? kShort : kMiddle);
}

// Each op's quickest seconds, of different runs, are those of no step.
TEST(MeasuredStep, TakesTheQuickestRunWhole) {
  ir::Graph graph;
  ir::Builder builder(graph);
  const ir::ValueId x = builder.input("x", {ir::DType::kF32, {8, 16}});
  graph.results = {builder.op(ir::Kind::k_relu, "b", {builder.op(ir::Kind::k_exp, "a", {x}, {})}, {})};
  BuiltCostGraph built = build_cost_graph(graph, bench_device(), {}).value();
  const pt_kernel a = kernel_of(&is_longer_when_disturbed), b = kernel_of(&is_shorter_when_disturbed);
  built.kernel_of.front().front() = &a, built.kernel_of.back().front() = &b;
  const std::vector<OpKey> keys = {{.op = "a"}, {.op = "b"}};
  for (const bool disturbed_first : {false, true}) {
    MeasuredStep step(graph, built, first_choices(built), keys);
    for (const bool disturbed : {disturbed_first, !disturbed_first}) {
      is_disturbed = disturbed;
      ASSERT_TRUE(step.run(limits_of(1 << 20)));
    }
    EXPECT_LT(step.find(keys.front()).value(), kLong);
    EXPECT_GE(step.find(keys.back()).value(), kMiddle);
  }
}

}  // namespace
}  // namespace pantoum::cost
