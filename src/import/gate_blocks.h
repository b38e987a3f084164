// The weights of a recurrent operator are often blocks of another value, one for each gate, put into ONNX's order.
#pragma once

#include <optional>
#include <vector>

#include "import/shapes.h"

namespace pantoum::import {

// `source` holds nothing but the blocks of all gates; gate g is its block `blocks[g]`.
struct GateBlocks {
  ValueId source = ir::kNone;
  Integers blocks;
};

// What the elements of x from `first` on, `gates` blocks of `block` elements each, were put together from: looked for
// through reshapes, slices, splits and concats of what is contiguous, through a few ops at most. None where they are
// not the blocks of one value, each once.
[[nodiscard]] std::optional<GateBlocks> gate_blocks(const Graph& graph, ValueId x, int64_t first, int64_t gates,
                                                    int64_t block);

// Whether the elements of x from `first` on, `count` of them, are elements of one constant of zeros alone: looked for in the same way.
[[nodiscard]] bool is_zero_part(const Graph& graph, ValueId x, int64_t first, int64_t count);

}  // namespace pantoum::import
