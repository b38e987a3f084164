// Proved lower bounds that need no linear program: what holds in any order of first computations, and what the model's
// order adds.
#pragma once

#include <string>

#include "plan/simulate/model.h"

namespace pantoum::plan {

struct Bounds {
  Joules energy = 0;
  Seconds time = 0;
  double product = 0;  // of both in one plan; where that is the objective
};

// Every plan, whatever its order, pays at least
//
//   - the cheapest permitted choice of every op that must run,
//   - every transfer that must happen: of what starts in storage and is read, and of what must end there,
//   - idle power over the seconds of these choices, and over transfers that the engine waits for.
//
// Rounded down by a relative 1e-9 against floating-point error. Whoever has the cost graph adds it up again
// (check/least_costs.h): it needs no certificate. Cost: linear.
Bounds lower_bounds(const Model& model);

// And what the question adds to that: to the energy a deadline, to the time a limit on the energy, and to their product that
// both are of one plan. At a price of a second, the least sum over the ops bounds energy + price * time (Lagrange's bound).
// Less what the limit costs, it bounds the energy; as a line that no plan lies below, the product. The best of some prices
// counts. Cost: up to 50 times the choices.
Bounds lower_bounds(const Model& model, const Question& question);

// The energy of every plan of the model's order: lower_bounds() and, at the stage where that is most, the price of the
// bytes that exceed the budget. A tensor that is live across a stage and not used there is either in RAM, or comes back by
// a page-in (and a page-out before) or by recomputing it. The least such price is a fractional knapsack. (Only where every
// choice reads and writes all its operands and no op is optional; else that term is left out.) No certificate tells
// it: it is for the search alone. Cost: stages times intervals.
Joules stage_priced_energy(const Model& model, Bytes ram, bool paging, bool remat);

// Bytes that are in RAM while the op runs under its leanest choice, beside what only spans its stage.
Bytes working_set(const Model& model, const OpModel& op);

// The largest working set: inputs, outputs that take over nothing, workspace, what is pinned, staging. No plan of any
// order fits in less: an op has its operands when it runs, and what is pinned stays until its successor, whose maker runs
// after the ops that it depends on, takes over its bytes.
struct WorkingSet {
  Bytes bytes = 0;
  std::string why;  // the op and its largest tensors
};
WorkingSet least_ram(const Model& model);

}  // namespace pantoum::plan
