// The RAM that a refusal tells includes what was taken off the budget before planning.
#pragma once

#include "plan/planner.h"

namespace pantoum::pipeline {

// Returns what is known where no plan fits, with the bytes of RAM that were taken off the budget: the figures of a command line's --ram.
[[nodiscard]] plan::Infeasible with_reserve(plan::Infeasible known, problem::Bytes reserve);

}  // namespace pantoum::pipeline
