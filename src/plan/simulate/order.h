// The order of first computations.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/simulate/indices.h"

namespace pantoum::plan {

// The graph's order, changed only so that whatever makes the successor of a tensor stands after every reader of that
// tensor (it could not take over its bytes otherwise); where that is a cycle the graph's order stays. Op ids.
// Cost: n log n.
std::vector<int64_t> updates_last(const CostGraph& graph);

// The order in which the plan, which holds on the graph, first computes its ops; those that it does not compute stand as
// early as they can. The graph's order where that is a cycle. Op ids. Cost: n log n.
std::vector<int64_t> order_of(const Plan& plan, const CostGraph& graph);

}  // namespace pantoum::plan
