// How long a kernel takes on this machine, as a step finds its operands.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <new>
#include <optional>

#include "ir/graph.h"
#include "pantoum/pantoum.h"
#include "problem/cost_graph.h"

namespace pantoum::cost {

using problem::Bytes;
using problem::Seconds;

// Runs kernels on operands of their real shapes: numbers in (0, 1], so that none meets denormals, logarithms of 0 or
// divisions by 0; zeros for indices. The operands take turns among several places, as many as fit into `footprint`: a
// kernel finds in the caches no more of them than it would in a step of that many bytes.
class KernelBench {
 public:
  using Clock = std::chrono::steady_clock;

  // `pool` outlives the bench: the threads that training will use. No op takes more than `most` bytes.
  KernelBench(const pt_pool* pool, Bytes footprint, Bytes most) : pool_(pool), footprint_(footprint), most_(most) {}

  // Operands and workspace, rounded up.
  [[nodiscard]] Bytes bytes_of(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel) const;

  // The median of several runs after one that warms up, which take about `slice`; no run begins after `deadline`. None:
  // the kernel fails on such operands, there is no memory for them, or the deadline came first.
  [[nodiscard]] std::optional<Seconds> seconds(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel,
                                               Seconds slice, Clock::time_point deadline);

 private:
  static constexpr std::align_val_t kAlignment{4096};
  struct Release {
    void operator()(std::byte* bytes) const { ::operator delete[](bytes, kAlignment); }
  };

  [[nodiscard]] bool reserve(size_t bytes);

  const pt_pool* pool_;
  Bytes footprint_, most_;
  std::unique_ptr<std::byte[], Release> memory_;
  size_t reserved_ = 0;
};

}  // namespace pantoum::cost
