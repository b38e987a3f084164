// Measures how long a kernel takes on this machine.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <vector>

#include "cost/op_sample.h"
#include "ir/graph.h"
#include "kernels/portable/pool_part.h"
#include "pantoum/pantoum.h"
#include "problem/cost_graph.h"

namespace pantoum::cost {

// A kernel is run until the 95% interval of its median reaches no further than kSettled of the median to either side, or for `slice`,
// whichever comes first, but three times at least. No run begins after `deadline`.
struct BenchLimits {
  Seconds slice = 20e-3;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  size_t warm_runs = 0;  // further runs, whose operands are still in the caches
};
inline constexpr double kSettled = 0.03;
[[nodiscard]] bool is_settled(const OpSample& sample);

// The median of times, of which there is at least one, and its 95% interval by the order of the times (binomial; of fewer than 6 times
// the extremes).
[[nodiscard]] OpSample sample_of(std::vector<Seconds> taken);

// Fills an operand with numbers in (0, 1], so that no kernel meets denormals, logarithms of 0 or divisions by 0; an operand of indices
// with zeros.
void fill_operand(const ir::TensorType& type, std::byte* bytes);

// Runs kernels on operands of their real shapes; the result of an update overwrites what it replaces. The operands of successive runs
// lie at different places, as many as fit into `footprint`, so that they are not in the caches.
class KernelBench {
 public:
  using Clock = std::chrono::steady_clock;

  // `pool`: the threads that training will use; outlives the bench. Ops that take more than `most` bytes are not run.
  KernelBench(const pt_pool* pool, Bytes footprint, Bytes most)
      : all_(pool), pool_(pool), footprint_(footprint), most_(most) {}
  KernelBench(const KernelBench&) = delete;
  KernelBench& operator=(const KernelBench&) = delete;

  // Places operands in this memory, at multiples of `align` bytes of it, instead of memory of the bench.
  void use_memory(std::span<std::byte> memory, Bytes align);

  // Lets kernels use so many threads of the pool from now on; 0: all of them.
  void take_threads(uint32_t threads);

  // The bytes of operands and workspace, rounded up.
  [[nodiscard]] Bytes bytes_of(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel) const;

  // Runs the kernel several times after one run that warms up. None: it fails on such operands, there is no memory for them, or the
  // deadline came first.
  [[nodiscard]] std::optional<OpSample> measure(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel,
                                                const BenchLimits& limits);
  // A function that runs the kernel once, at one place after the other, and returns false where it cannot. For meters, whose windows are
  // longer than runs. Valid until the next call of any function of this object.
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
  Bytes align_ = 64;  // of an operand
  std::span<std::byte> given_;
  std::unique_ptr<std::byte[], Release> memory_;
  size_t reserved_ = 0;
};

}  // namespace pantoum::cost
