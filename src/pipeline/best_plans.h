// The graph of a step whose plan is best, and its plans.
#pragma once

#include "pipeline/pipeline.h"
#include "pipeline/request.h"

namespace pantoum::pipeline {

// The graph whose best plan in the budget costs least, among the first and those that cost less where RAM is unlimited
// (Compiled::alternatives, which it takes).
[[nodiscard]] Result<void> find_best_plans(Compiled& compiled, const PlanRequest& request,
                                           const plan::PlanOptions& options, plan::Infeasible* infeasible);

}  // namespace pantoum::pipeline
