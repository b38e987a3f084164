// Orders of first computations that need little memory before anything is recomputed or paged.
#pragma once

#include <cstdint>
#include <stop_token>
#include <vector>

#include "plan/simulate/model.h"

namespace pantoum::plan {

struct PlanOptions;

struct OrderLimits {
  std::stop_token stop;  // asks for the best so far
  int64_t steps = 0;     // how much is tried: the same order on any machine; 0: what suits the graph's size
};

struct MemoryOrder {
  std::vector<int64_t> order;  // op ids, topological, updates last
  Bytes peak_bytes = 0;        // the most live bytes of the step that retains every tensor until its last use
  Bytes bound_bytes = 0;       // no order needs less without recomputation and paging, at the choices that a search
                               // starts from
};

// The order of least peak that is found; of the same peak, with the fewest bytes over the budget, summed over the
// stages. Never worse than updates_last's; the graph's own where reordering is not allowed.
//   cost  300 ops: 50 ms, 2,800 ops: 1 s; linear beyond
MemoryOrder least_memory_order(const CostGraph& graph, const Question& question, const OrderLimits& limits = {});

// The orders that are worth planning in, three at most: updates_last's; one near it with clearly fewer bytes over the
// budget; the order of least memory, where its peak or its bytes over the budget are clearly smaller. The first alone
// where the step fits as it is; the graph's own alone where it may not be changed.
//   cost  a third more than least_memory_order
std::vector<std::vector<int64_t>> candidate_orders(const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan
