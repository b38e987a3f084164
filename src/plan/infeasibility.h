// Why there is no plan: what is known, in words and as a proof that can be given away.
#pragma once

#include <optional>
#include <string>

#include "plan/planner.h"
#include "plan/simulate/time_limit.h"

namespace pantoum::plan {

// For a question for which no plan was found: a plan that meets the budget and the limits after all, in the rest of the time;
// or nothing, and `known` says what is known. `smallest`: the original graph in the order that needs least RAM. Bound and
// status of the smallest plan are those of its own question.
std::optional<Plan> plan_after_all(const CostGraph& smallest, const CostGraph& original, const PlanOptions& options,
                                   const TimeLimit& time, Infeasible& known);

// The proof as one that can be given away, where there is one of exactly the question asked.
std::optional<Refusal> refusal_of(const CostGraph& graph, const PlanOptions& options, const Infeasible& known);

// E0301 where it is proved that there is no plan, E0302 otherwise.
Error infeasibility_report(const std::string& graph, const PlanOptions& options, const Infeasible& known);

}  // namespace pantoum::plan
