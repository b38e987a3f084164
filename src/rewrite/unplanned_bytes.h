// The RAM that a step takes without a plan.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace pantoum::rewrite {

// By op: the bytes that tensors made by the step take while it runs, in the order of the graph, freed after their last
// use, written in place where ops may. Convolutions hold their weight, or its gradient, twice: back ends want it in
// another layout. Without what the step begins with, and without workspaces.
//   cost  linear in the graph
[[nodiscard]] std::vector<ir::Bytes> unplanned_bytes(const ir::Graph& graph);

}  // namespace pantoum::rewrite
