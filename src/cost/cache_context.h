// How much of what an op reads and writes the caches do not hold when a step comes to it.
#pragma once

#include <vector>

#include "problem/cost_graph.h"

namespace pantoum::cost {

// By op and choice: the share, 0 to 1, of the bytes it reads and writes that comes from beyond a cache of `cache` bytes,
// where steps follow one another in the graph's order, without its optional ops, and the least recently used bytes leave
// first. Results take the bytes that were freed last, as a plan that keeps its arena small makes them, or are written over
// inputs. `cache` 0: all of it. Cost: two walks over the graph. Source: stack distances (Mattson et al., 1970), by whole tensors.
[[nodiscard]] std::vector<std::vector<double>> cold_shares(const problem::CostGraph& graph, base::Bytes cache);

// By tensor, the op after which its bytes are free when a step keeps every tensor from its producer to its last reader:
// -1 for what lives between steps, what replaces it, and what only optional ops make.
[[nodiscard]] std::vector<int64_t> last_uses(const problem::CostGraph& graph);

}  // namespace pantoum::cost
