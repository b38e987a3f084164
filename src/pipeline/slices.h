// Ops in slices, offered where a step does not fit the budget without.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pipeline/pipeline.h"
#include "plan/planner.h"

namespace pantoum::pipeline {

// Returns whether ops of the step may be computed in slices: with parameters in storage, by the portable kernels, planned on one engine by Pantoum's own
// planner, unless --disable slices.
[[nodiscard]] bool may_slice(const Compiled& compiled, const PlanRequest& request);

// Returns the options that this step lacks for ops in slices: "--params-in aux --kernels portable"; "": none.
[[nodiscard]] std::string what_slices_take(const Compiled& compiled);

// Returns whether the operands and the workspace of some op exceed the budget of `options`.
[[nodiscard]] bool needs_slices(const Compiled& compiled, const plan::PlanOptions& options);

// Offers the ops of all programs in slices, for a budget of RAM. Errors of load_device.
[[nodiscard]] Result<void> offer_slices(Compiled& compiled, const PlanRequest& request, problem::Bytes budget);

// Offers the ops of the training step in the slices of an earlier plan's graph, and those of the other programs for a budget of RAM. Errors of load_device.
[[nodiscard]] Result<void> take_slices(const problem::CostGraph& given, Compiled& compiled, const PlanRequest& request,
                                       problem::Bytes budget);

// Adds to the help of a refusal with which options ops are computed in slices, where this step lacks them and some op exceeds the budget.
[[nodiscard]] Error with_slices_told(Error error, const Compiled& compiled, const PlanRequest& request,
                                     const plan::PlanOptions& options);

// The training step's cost graph with ops in slices for a budget of RAM, the reserve included; nothing where each op fits as a whole.
using GraphInSlices = std::function<Result<std::optional<problem::CostGraph>>(problem::Bytes ram)>;
// For a sweep whose first graph is `first`: the graphs have its times. Empty where the step may have no slices.
[[nodiscard]] GraphInSlices graphs_in_slices(const Compiled& compiled, const PlanRequest& request,
                                             const problem::CostGraph& first);

// What `inspect` tells of a step: what single ops need in the budget, as a whole and in slices.
struct InspectedSlices {
  problem::CostGraph graph;  // with slices, where ops may have them and some op exceeds the budget
  problem::Question question;
  problem::Bytes unplanned_peak_bytes = 0;  // without slices, the reserve included
  bool offered = false;
  std::string lacks;  // options without which there are no slices
};
// Errors of compile_model, planner_options and load_device.
[[nodiscard]] Result<InspectedSlices> inspect_slices(const ModelRequest& model, const PlanRequest& request);

}  // namespace pantoum::pipeline
