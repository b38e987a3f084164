// Plans for an objective that no single question asks for: by its slopes, from step to step.
#pragma once

#include "plan/attempts/objective_expression.h"
#include "plan/planner.h"

namespace pantoum::plan {

// The best of several plans by the expression's value: those of least energy and least time, then, again and again, the
// plan that is best by the slopes of the expression at the best one so far. Each gets an equal part of the time that is left.
// What a plan says to be proved is proved of the question that it was made for (weights that are those slopes); of the
// expression's own value nothing is proved. Where one more second makes the value less (power), choices of algorithms
// are compared so, and nothing waits on purpose; nothing is proved of such a plan.
//   errors  E0117 a limit on the energy, or an expression that has no value or no slope; those of `make` where no plan is found
Result<Plan> plan_by_slopes(const ObjectiveExpression& expression, const CostGraph& graph, const PlanOptions& options,
                            Infeasible* infeasible, const PlanMaker& make);

}  // namespace pantoum::plan
