// How long a kernel takes on this machine, as a step finds its operands.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <vector>

#include "cost/op_sample.h"
#include "ir/graph.h"
#include "kernels/portable/pool_part.h"
#include "pantoum/pantoum.h"
#include "problem/cost_graph.h"

namespace pantoum::cost {

// How long a kernel is run: until the 95% interval of its median is no wider than kSettled of it to either side, or for
// `slice`, whichever comes first, but three times at least; no run begins after `deadline`.
struct BenchLimits {
  Seconds slice = 20e-3;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  size_t warm_runs = 0;  // then, with operands that stay in the caches
};
inline constexpr double kSettled = 0.03;
[[nodiscard]] bool is_settled(const OpSample& sample);

// The median of times, and its 95% interval by their order (binomial; the extremes of fewer than 6). At least one.
[[nodiscard]] OpSample sample_of(std::vector<Seconds> taken);

// Numbers in (0, 1], so that no kernel meets denormals, logarithms of 0 or divisions by 0; zeros for indices.
void fill_operand(const ir::TensorType& type, std::byte* bytes);
[[nodiscard]] pt_tensor tensor_at(const ir::TensorType& type, std::byte* data);

// Runs kernels on operands of their real shapes, an update's result over what it replaces. The operands take turns among
// several places, as many as fit into `footprint`: more than the caches hold.
class KernelBench {
 public:
  using Clock = std::chrono::steady_clock;

  // `pool` outlives the bench: the threads that training will use. No op takes more than `most` bytes.
  KernelBench(const pt_pool* pool, Bytes footprint, Bytes most)
      : all_(pool), pool_(pool), footprint_(footprint), most_(most) {}
  KernelBench(const KernelBench&) = delete;
  KernelBench& operator=(const KernelBench&) = delete;

  // Of the pool, from now on; 0: all that it has.
  void take_threads(uint32_t threads);

  // Operands and workspace, rounded up.
  [[nodiscard]] Bytes bytes_of(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel) const;

  // Several runs after one that warms up. None: the kernel fails on such operands, there is no memory for them, or the
  // deadline came first.
  [[nodiscard]] std::optional<OpSample> measure(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel,
                                                const BenchLimits& limits);
  // Makes the kernel ready to run on such operands, again and again, one place after the other; false: it cannot be.
  // For meters, whose windows are longer than runs. Valid until the next call of any function here.
  [[nodiscard]] std::function<bool()> runner(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel);

 private:
  static constexpr std::align_val_t kAlignment{4096};
  struct Release {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, kAlignment); }
  };

  class Place;
  using Calls = std::vector<std::shared_ptr<Place>>;

  [[nodiscard]] bool reserve(size_t bytes);
  static bool warm_up(const Place& place, const pt_kernel& kernel, Clock::time_point deadline);
  [[nodiscard]] std::optional<Calls> prepare(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel);

  const pt_pool* all_;
  pt_pool_part part_{};
  const pt_pool* pool_;  // all_, part_'s, or null
  Bytes footprint_, most_;
  std::unique_ptr<std::byte[], Release> memory_;
  size_t reserved_ = 0;
};

}  // namespace pantoum::cost
