// Computes how much of what an op reads and writes is not in the caches when a step comes to it.
#pragma once

#include <vector>

#include "problem/cost_graph.h"

namespace pantoum::cost {

// Returns, by op and choice, the share (0 to 1) of the bytes read and written that are not in a cache of `cache` bytes. Steps follow
// one another in the graph's order, without optional ops; the least recently used bytes leave the cache first. Results take the
// bytes that were freed last, as in a plan with a small arena, or overwrite inputs. `cache` 0: every share is 1. Cost: two walks over
// the graph. Source: stack distances (Mattson et al., 1970), by whole tensors.
[[nodiscard]] std::vector<std::vector<double>> cold_shares(const problem::CostGraph& graph, base::Bytes cache);

// By tensor: the op after which its bytes are free in a step that keeps every tensor from its producer to its last reader. -1 for
// tensors that live between steps, for those that replace them, and for those that only optional ops make.
[[nodiscard]] std::vector<int64_t> last_uses(const problem::CostGraph& graph);

}  // namespace pantoum::cost
