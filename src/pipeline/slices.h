// Ops in slices, offered where a step does not fit the budget without.
#pragma once

#include <string>

#include "pipeline/pipeline.h"
#include "plan/planner.h"

namespace pantoum::pipeline {

// Returns whether ops of the step may be computed in slices: with parameters in storage, by the portable kernels, planned on one engine by Pantoum's own
// planner, unless --disable slices.
[[nodiscard]] bool may_slice(const Compiled& compiled, const PlanRequest& request);

// Returns whether the operands and the workspace of some op exceed the budget of `options`.
[[nodiscard]] bool needs_slices(const Compiled& compiled, const plan::PlanOptions& options);

// Offers the ops of all programs in slices, for a budget of RAM. Errors of load_device.
[[nodiscard]] Result<void> offer_slices(Compiled& compiled, const PlanRequest& request, problem::Bytes budget);

// Offers the ops of the training step in the slices of an earlier plan's graph, and those of the other programs for a budget of RAM. Errors of load_device.
[[nodiscard]] Result<void> take_slices(const problem::CostGraph& given, Compiled& compiled, const PlanRequest& request,
                                       problem::Bytes budget);

// Adds to the help of a refusal that other kernels compute in slices, where this step's do not and some op exceeds the budget.
[[nodiscard]] Error with_slices_told(Error error, const Compiled& compiled, const PlanRequest& request,
                                     const plan::PlanOptions& options);

}  // namespace pantoum::pipeline
