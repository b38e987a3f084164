#include "cost/device_engine.h"

#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "base/round_up.h"
#include "cost/kernel_bench.h"
#include "ir/kernel_call.h"

namespace pantoum::cost {
namespace {

constexpr Seconds kMostSlice = 10e-3, kSettlingSlice = 0.1;

bool is_same_computation(const ir::Op& a, const ir::Op& b) {
  return a.kind == b.kind && a.inputs == b.inputs && a.attrs == b.attrs;
}

std::optional<Bytes> workspace_of(const pt_kernel& kernel, const ir::Graph& graph, const ir::Op& op,
                                  const pt_pool* pool) {
  if (kernel.workspace_bytes == nullptr) return 0;
  std::vector<pt_tensor> inputs, outputs;
  for (const ir::ValueId input : op.inputs) inputs.push_back(ir::tensor_at(graph.value(input).type));
  for (const ir::ValueId output : op.outputs) outputs.push_back(ir::tensor_at(graph.value(output).type));
  pt_call call = call_of(op, inputs, outputs);
  call.pool = pool;
  const size_t bytes = kernel.workspace_bytes(&call);
  return bytes == PT_NO_KERNEL ? std::nullopt : std::optional(static_cast<Bytes>(bytes));
}

// The times of one call, by the keys of its kernels.
class Times {
 public:
  Times(ProfileStore& store, const MeasuringLimits& limits, std::span<std::byte> memory, Bytes align, const WayKey& key)
      : store_(&store),
        limits_(limits),
        key_(key),
        bench_(limits.pool, static_cast<Bytes>(memory.size()), static_cast<Bytes>(memory.size())),
        can_measure_(!memory.empty()) {
    bench_.use_memory(memory, align);
  }

  // `way` has the seconds of the choice that it is like.
  std::optional<Seconds> of(const ir::Graph& graph, const ir::Op& op, const DeviceWay& way) {
    OpKey key = op_key(graph, op, *way.kernel, static_cast<uint32_t>(key_.threads), limits_.machine);
    key.engine = key_.engine;
    const auto [entry, is_new] = at_.try_emplace(text_of(key), times_.found.size());
    if (is_new) add(std::move(key), graph, op, way);
    DeviceKernel& found = times_.found[entry->second];
    ++found.ops;
    return found.sample ? std::optional(found.sample->seconds) : std::nullopt;
  }

  DeviceTimes take() { return std::move(times_); }

 private:
  void add(OpKey key, const ir::Graph& graph, const ir::Op& op, const DeviceWay& way) {
    ++times_.kernels;
    std::optional<OpSample> sample = look_up(key);
    if (sample)
      ++times_.known;
    else
      sample = measure(key, graph, op, *way.kernel);
    if (sample) times_.least = times_.least > 0 ? std::min(times_.least, sample->seconds) : sample->seconds;
    times_.found.push_back({std::move(key), 0, way.seconds, std::move(sample)});
  }

  std::optional<OpSample> look_up(const OpKey& key) {
    if (limits_.anew || store_ == nullptr) return std::nullopt;
    const Result<std::optional<OpSample>> known = store_->find_op(key);
    if (!known) return leave_store(known.error()), std::nullopt;
    return *known && limits_.settle && !is_settled(**known) ? std::nullopt : *known;
  }

  std::optional<OpSample> measure(const OpKey& key, const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel) {
    if (!can_measure_ || limits_.stop.stop_requested() || KernelBench::Clock::now() >= deadline_) return std::nullopt;
    std::optional<OpSample> sample = bench_.measure(
        graph, op, kernel, {.slice = limits_.settle ? kSettlingSlice : kMostSlice, .deadline = deadline_});
    if (!sample) return std::nullopt;
    ++times_.now;
    if (store_ != nullptr)
      if (const Result<void> kept = store_->put_op(key, *sample); !kept) leave_store(kept.error());
    return sample;
  }

  void leave_store(const Error& error) {
    times_.store_failure = error;
    store_ = nullptr;
  }

  ProfileStore* store_;  // null: it failed
  const MeasuringLimits& limits_;
  const WayKey& key_;
  KernelBench bench_;
  bool can_measure_;
  KernelBench::Clock::time_point deadline_ =
      KernelBench::Clock::now() + std::chrono::duration_cast<KernelBench::Clock::duration>(
                                      std::chrono::duration<double>(std::clamp(limits_.seconds, 0.0, 1e6)));
  std::unordered_map<std::string, size_t> at_;  // in times_.found
  DeviceTimes times_;
};

}  // namespace

std::vector<DeviceWay> ways_on(const DeviceKernels& kernels, const ir::Graph& graph, const BuiltCostGraph& built,
                               const std::map<std::string, std::string>& classes) {
  std::vector<DeviceWay> ways;
  for (size_t op = 0; op < built.graph.ops.size(); ++op) {
    const std::vector<ir::Op>& as = built.computed_as[op];
    const auto kept = classes.find(built.graph.ops[op].name);
    for (size_t at = 0; at < as.size(); ++at) {
      const auto same = [&](const ir::Op& other) { return is_same_computation(other, as[at]); };
      if (std::any_of(as.begin(), as.begin() + static_cast<std::ptrdiff_t>(at), same)) continue;
      const pt_kernel* const kernel =
          pt_kernel_find(kernels.table, static_cast<uint16_t>(as[at].kind),
                         static_cast<uint8_t>(key_dtype(graph, as[at])), kernels.algorithm, kernels.engine);
      if (kernel == nullptr || (kept != classes.end() && kept->second != kernel->numerics)) continue;
      const std::optional<Bytes> workspace = workspace_of(*kernel, graph, as[at], kernels.pool);
      if (!workspace) continue;
      const Bytes bytes = base::round_up(*workspace, built.graph.device.align_bytes);
      ways.push_back({op, at, kernel, bytes, built.graph.ops[op].choices[at].time_s});
    }
  }
  return ways;
}

DeviceTimes measure_ways(std::vector<DeviceWay>& ways, const ir::Graph& graph, const BuiltCostGraph& built,
                         std::span<std::byte> memory, Bytes align, ProfileStore& store, const MeasuringLimits& limits,
                         const WayKey& key) {
  Times times(store, limits, memory, align, key);
  std::vector<DeviceWay*> heaviest;
  for (DeviceWay& way : ways)
    if (limits.numerics || way.kernel->numerics == built.graph.ops[way.op].choices.front().numerics)
      heaviest.push_back(&way);
  std::ranges::stable_sort(heaviest, std::ranges::greater(), &DeviceWay::seconds);
  std::vector<double> slower;
  std::vector<DeviceWay*> unknown;
  for (DeviceWay* const way : heaviest) {
    const std::optional<Seconds> seconds = times.of(graph, built.computed_as[way->op][way->like], *way);
    if (!seconds) {
      unknown.push_back(way);
      continue;
    }
    if (way->seconds > 0) slower.push_back(*seconds / way->seconds);
    way->seconds = *seconds;
  }
  if (!slower.empty()) {
    const auto middle = slower.begin() + static_cast<std::ptrdiff_t>(slower.size() / 2);
    std::ranges::nth_element(slower, middle);
    for (DeviceWay* const way : unknown) way->seconds *= *middle;
  }
  return times.take();
}

}  // namespace pantoum::cost
