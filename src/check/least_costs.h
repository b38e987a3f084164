// What every plan takes at the least, whatever its order, read off the cost graph.
#pragma once

#include <cstdint>

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

// Of plans that keep the question's limits, too: the energy within a deadline, where energy is the objective, and the time
// within a limit on the energy, where time is. At any price p of what is limited, every plan takes at least
//
//     the sum over the ops of their least (wanted + p x limited), and as much of what must move, - p x limit
//
// and the most of that over some prices counts. Cost: as above, and 50 times the choices.
[[nodiscard]] LeastCosts least_costs_within(const problem::CostGraph& graph, const problem::Question& question);

}  // namespace pantoum::check
