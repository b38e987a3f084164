// The operations and bytes of an algorithm for an op, if they differ from those of the op's definition (ir::cost_of).
#pragma once

#include "ir/graph.h"
#include "ir/op_registry.h"
#include "pantoum/pantoum.h"

namespace pantoum::cost {

// Returns the operations and bytes of `op` if `kernel` computes it. Winograd's convolutions (kernels/portable/winograd.h) count the additions and
// multiplications of their products, and for each element of a transform the operations that a small processor makes in the same
// time (docs/costs.md); their bytes include what goes through the workspace. Convolutions of padded strips count their share of the
// direct convolution's instructions. Any other kernel: ir::cost_of.
[[nodiscard]] ir::OpCost algorithm_cost(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel);

}  // namespace pantoum::cost
