// The effect of more RAM, or of no deadline: plans the plan's question again.
#pragma once

#include "pipeline/pipeline.h"
#include "report/explain.h"

namespace pantoum::pipeline {

// Plans again with the plan's own RAM and with 1%, 5% and 10% more (of a step in slices, with one KiB more too), each starting from the plan before; and without the deadline if there is one.
// `options` gives the freedoms and the effort; RAM, deadline and objective are those of the plan. No answer is worse than the plan.
[[nodiscard]] Result<report::NextBytes> next_bytes(const problem::Plan& plan, plan::PlanOptions options);

}  // namespace pantoum::pipeline
