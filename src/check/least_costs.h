// What every plan takes at the least, whatever its order, read off the cost graph.
#pragma once

#include <cstdint>

#include "check/priced_costs.h"
#include "problem/cost_graph.h"
#include "problem/question.h"

namespace pantoum::check {

// Rounded down.
//
//   - energy and time: the cheapest permitted choice of every op that must run, its energy with idle power over its own
//     seconds; every transfer that must happen, of what starts in storage and is read by every permitted choice of such
//     an op, and of what must end there and does not start there (its time, and idle power over that, only where a
//     transfer blocks the engine)
//   - RAM: what is there when the step starts, or while an op runs under its leanest choice, with what is pinned then.
//     Sizes are rounded up to the alignment, but for the topmost block
struct LeastCosts {
  double energy_j = 0, time_s = 0;
  int64_t ram_bytes = 0;
};

// Of plans with these freedoms; budget and limits are not asked. The graph has passed problem::validate. Cost: pinned
// tensors times ops.
[[nodiscard]] LeastCosts least_costs(const problem::CostGraph& graph, const problem::Freedoms& freedoms);

// The same of the ops and transfers, at any prices.
[[nodiscard]] PricedCosts priced_costs(const problem::CostGraph& graph, const problem::Freedoms& freedoms);

}  // namespace pantoum::check
