// Plans for an objective that no single question asks for: by its slopes, from step to step.
#pragma once

#include "pipeline/objective_expression.h"
#include "plan/weighted_plan.h"

namespace pantoum::pipeline {

// The best of several plans by the expression's value: those of least energy and least time, then, again and again, the
// plan that is best by the slopes of the expression at the best one so far. Each gets a part of the time limit. What a
// plan says to be proved is proved of the question that it was made for (weights that are those slopes); of the
// expression's own value nothing is proved. Where one more second makes the value less (power), choices of algorithms
// are compared so, and nothing waits on purpose; nothing is proved of such a plan.
//   errors  those of `make` where no plan is found
[[nodiscard]] Result<problem::Plan> plan_by_slopes(const ObjectiveExpression& expression,
                                                   const problem::CostGraph& graph, const plan::PlanOptions& options,
                                                   plan::Infeasible* infeasible, const plan::PlanMaker& make);

}  // namespace pantoum::pipeline
