// Why there is no plan, in words.
#pragma once

#include <string>

#include "plan/planner.h"

namespace pantoum::plan {

// Does what is known prove that no plan meets the budget and the limits?
[[nodiscard]] bool proved_infeasible(const PlanOptions& options, const Infeasible& known);

// E0301 where it does, E0302 otherwise.
[[nodiscard]] Error infeasibility_report(const std::string& graph, const PlanOptions& options, const Infeasible& known);

}  // namespace pantoum::plan
