// Proved lower bounds for the model's order of first computations.
#pragma once

#include <string>

#include "plan/simulate/model.h"

namespace pantoum::plan {

struct Bounds {
  Joules energy = 0;
  Seconds time = 0;
};

// Every plan of this order pays at least
//
//   - the cheapest permitted choice of every op that must run,
//   - every transfer that must happen: of what starts in storage and is read, and of what must end there,
//   - idle power over the least makespan,
//   - at the stage where that is most, the price of the bytes that exceed the budget. A tensor that is live across a
//     stage and not used there is either in RAM, or comes back by a page-in (and a page-out before) or by recomputing
//     it. The least such price is a fractional knapsack. (Only where every choice reads and writes all its operands
//     and no op is optional; else this term is left out.)
//
// Rounded down by a relative 1e-9 against floating-point error. Cost: stages times intervals.
[[nodiscard]] Bounds lower_bounds(const Model& model, Bytes ram, bool paging, bool remat);

// Bytes that are in RAM while the op runs under its leanest choice, beside what only spans its stage.
[[nodiscard]] Bytes working_set(const Model& model, const OpModel& op);

// The largest working set: inputs, outputs that take over nothing, workspace, what is pinned, staging. No plan fits in
// less.
struct WorkingSet {
  Bytes bytes = 0;
  std::string why;  // the op and its largest tensors
};
[[nodiscard]] WorkingSet least_ram(const Model& model);

}  // namespace pantoum::plan
