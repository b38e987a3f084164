// What more RAM, or no deadline, would buy: the plan's question asked again.
#pragma once

#include "pipeline/pipeline.h"
#include "report/explain.h"

namespace pantoum::pipeline {

// Plans again with the plan's own RAM and with 1%, 5% and 10% more, each from the plan before; and without the deadline
// where there is one. `options` says what is permitted and how much is searched; its ram, deadline and objective are
// the plan's. No answer is worse than the plan.
[[nodiscard]] Result<report::NextBytes> next_bytes(const problem::Plan& plan, plan::PlanOptions options);

}  // namespace pantoum::pipeline
