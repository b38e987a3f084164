// Times of operators, measured on this machine.
#pragma once

#include <memory>
#include <string>

#include "cost/build_cost_graph.h"
#include "cost/profile_store.h"

namespace pantoum::cost {

// Runs each kernel on operands of its real shapes (zeros for indices, small numbers otherwise), once per op key, shape
// and algorithm; the median of a few runs goes to the store.
//   store, pool   outlive the timer
//   cost          per new key: a few runs, at least 3 and about 20 ms; operands are allocated and freed
[[nodiscard]] std::unique_ptr<OpTimer> measuring_timer(ProfileStore& store, const pt_pool* pool);

// The key under which an op's time is kept.
[[nodiscard]] std::string op_key(const ir::Graph& graph, const ir::Op& op, const pt_kernel& kernel, uint32_t threads);

}  // namespace pantoum::cost
