// What an algorithm does for an op, where that is other than what the op's definition says (ir::cost_of).
#pragma once

#include "ir/graph.h"
#include "ir/op_registry.h"
#include "pantoum/pantoum.h"

namespace pantoum::cost {

// Operations and bytes of `op` computed by `kernel`. Winograd's convolutions (kernels/portable/winograd.h): the
// additions and multiplications of their products, and for every element that a transform makes as many as a small
// processor computes in its time (docs/costs.md). Bytes: with what goes through the workspace. Convolutions of padded
// strips: their share of the direct one's instructions. Any other kernel: ir::cost_of.
[[nodiscard]] ir::OpCost algorithm_cost(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel);

}  // namespace pantoum::cost
