// How much of what an op reads the caches no longer hold when a step comes to it.
#pragma once

#include <vector>

#include "problem/cost_graph.h"

namespace pantoum::cost {

// By op and choice: the share, 0 to 1, of the bytes it reads and writes that comes from beyond a cache of `cache` bytes,
// where steps follow one another in the graph's order and the least recently used bytes leave first. Results are
// written into the cache. `cache` 0: all that is read. Cost: two walks over the graph.
// Source: stack distances (Mattson et al., 1970), by whole tensors.
[[nodiscard]] std::vector<std::vector<double>> cold_shares(const problem::CostGraph& graph, base::Bytes cache);

}  // namespace pantoum::cost
