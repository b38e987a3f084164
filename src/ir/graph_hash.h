// One number that tells graphs of other computations apart.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace pantoum::ir {

// Hashes the operators in their order, the values that they read and write, and the types and roles of these values. Names,
// attributes (a rate of dropout, a weight of a loss) and data do not count. O(size of the graph).
[[nodiscard]] uint64_t graph_hash(const Graph& graph);

}  // namespace pantoum::ir
