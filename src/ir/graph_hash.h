// One number that tells graphs of other computations apart.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace pantoum::ir {

// Of the operators in their order, which values they read and write, and these values' types and roles. Not of names,
// attributes (a rate of dropout, a weight of a loss) and data. O(size of the graph).
[[nodiscard]] uint64_t graph_hash(const Graph& graph);

}  // namespace pantoum::ir
