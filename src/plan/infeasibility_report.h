// Why there is no plan, in words.
#pragma once

#include <optional>
#include <string>

#include "plan/planner.h"

namespace pantoum::plan {

// Does what is known prove, by exactly the question asked, that no plan meets the budget and the limits?
[[nodiscard]] bool proved_infeasible(const PlanOptions& options, const Infeasible& known);

// Does it prove it of the plans of the planned order alone?
[[nodiscard]] bool proved_for_one_order(const PlanOptions& options, const Infeasible& known);

// The proof as one that can be given away, where there is one of exactly the question asked.
[[nodiscard]] std::optional<problem::Refusal> refusal_of(const CostGraph& graph, const PlanOptions& options,
                                                         const Infeasible& known);

// E0301 where it is proved, E0302 otherwise.
[[nodiscard]] Error infeasibility_report(const std::string& graph, const PlanOptions& options, const Infeasible& known);

}  // namespace pantoum::plan
