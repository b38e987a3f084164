// A plan of another program of the same arena -> what it holds in RAM.
#pragma once

#include <optional>

#include "plan/realize/other_program.h"
#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

// `shared` has the tensors in RAM when the program starts, by their ids in `graph`. Nothing: no policy makes the plan's
// instructions again. Cost: a simulation.
[[nodiscard]] std::optional<OtherProgram> other_program(const problem::CostGraph& graph, const Plan& plan,
                                                        const PlanOptions& options);

}  // namespace pantoum::plan
