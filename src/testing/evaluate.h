// Runs a graph as it stands, op by op, keeping every tensor: the reference that planned runs are compared with.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <vector>

#include "ir/graph.h"
#include "pantoum/pantoum.h"

namespace pantoum::ir {

// The contents of every value of a graph, by ValueId; empty for a value that no op makes and nothing feeds.
struct Evaluated {
  std::vector<std::vector<std::byte>> bytes;

  template <class T>
  [[nodiscard]] std::vector<T> as(ValueId value) const {
    const std::vector<std::byte>& from = bytes[static_cast<size_t>(value)];
    std::vector<T> elements(from.size() / sizeof(T));
    if (!elements.empty()) std::memcpy(elements.data(), from.data(), elements.size() * sizeof(T));
    return elements;
  }
};

using Feeds = std::map<ValueId, std::vector<std::byte>>;

struct EvaluateOptions {
  pt_scalars scalars{1, 0, 0};
  // The algorithm of each op's kernel, by OpId; empty: 0 (the reference) for all.
  std::vector<uint16_t> algorithms = {};
  // kNone: every output has its own bytes. k >= 0: kernels write over (copies of) the inputs that in_place_pairs
  // allows, the pairs taken in turn from the k-th on.
  int in_place = kNone;
};

// Values start from `feeds`, else from their own data, else (parameters, buffers, state) from zeros.
// Errors: E0212 an input, label or constant has no contents, or the wrong number of bytes; E0404 an op without a
// kernel; E0905 a kernel failed (its status as text). Memory: every tensor of the graph at once.
[[nodiscard]] Result<Evaluated> evaluate(const Graph& graph, const pt_kernel_table& kernels, const Feeds& feeds,
                                         const EvaluateOptions& options = {});

// How a kernel sees a value; `data` may be null (for workspace sizes).
[[nodiscard]] pt_tensor tensor_of(const TensorType& type, void* data);
// The kernel for an op of a graph, or null. Its dtype is the first output's; of count_correct, the first input's.
[[nodiscard]] const pt_kernel* kernel_of(const Graph& graph, const Op& op, const pt_kernel_table& kernels,
                                         uint16_t algorithm);

}  // namespace pantoum::ir
