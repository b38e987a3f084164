// Images in blocks of channels: convolutions, and what stands between them, on the layouts that a back end is fast
// with.
#pragma once

#include <cstdint>
#include <functional>

#include "ir/graph.h"
#include "pantoum/pantoum.h"

namespace pantoum::rewrite {

// What a back end says of its kernels; see pt_back_end.
struct BlockKernels {
  uint32_t block = 0;  // channels; 0: none
  std::function<int(uint16_t op, const pt_tensor& x, const pt_tensor& y, const uint32_t w[4], const int64_t* ints)>
      weight_layout;
};

// The same step with another layout of its images. A convolution that the back end has a kernel for takes and gives
// blocks; ops that work element by element, normalize, pool, join, split or reduce images follow their operands; all
// others, and everything that outlives the step, stay as they are. Reorders are ops of the graph, one per value and
// layout. Names of parameters, states, inputs, labels and results are untouched; values without readers are dropped.
//   graph    valid; training or evaluation
//   cost     linear in the graph, and one question to the back end per convolution
[[nodiscard]] ir::Graph block_channels(const ir::Graph& graph, const BlockKernels& kernels);

}  // namespace pantoum::rewrite
