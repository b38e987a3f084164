#include "pipeline/slices.h"

#include <fmt/format.h>

#include <algorithm>

#include "cost/slices.h"
#include "plan/attempts/planners.h"
#include "plan/engine_search.h"

namespace pantoum::pipeline {

namespace {

bool keeps_parameters_in_storage(const Compiled& compiled) {
  return std::ranges::any_of(compiled.training().cost.graph.tensors,
                             [](const auto& tensor) { return tensor.start == problem::Home::kAux; });
}

// The same, wherever the parameters are and whatever the kernels.
bool may_slice_otherwise(const Compiled& compiled, const PlanRequest& request) {
  return !request.on_engines() && request.runs("slices") && request.settings.planner == plan::kOwnPlanner &&
         compiled.training().cost.graph.device.pager.mode != problem::PagerMode::kNone;
}

}  // namespace

bool may_slice(const Compiled& compiled, const PlanRequest& request) {
  return may_slice_otherwise(compiled, request) && what_slices_take(compiled).empty();
}

std::string what_slices_take(const Compiled& compiled) {
  std::string options;
  if (!keeps_parameters_in_storage(compiled)) options = "--params-in aux";
  if (compiled.kernels->back_end() != nullptr)
    options += options.empty() ? "--kernels portable" : " --kernels portable";
  return options;
}

bool needs_slices(const Compiled& compiled, const plan::PlanOptions& options) {
  return std::ranges::any_of(compiled.programs, [&](const Program& program) {
    return plan::least_working_set_bytes(program.cost.graph, options) > options.question.budget_bytes();
  });
}

Error with_slices_told(Error error, const Compiled& compiled, const PlanRequest& request,
                       const plan::PlanOptions& options) {
  const std::string missing = what_slices_take(compiled);
  if (error.code == "E0301" && !missing.empty() && may_slice_otherwise(compiled, request) &&
      needs_slices(compiled, options))
    error.help += fmt::format(", or {}, with which an op is computed in slices where it does not fit whole", missing);
  return error;
}

Result<void> offer_slices(Compiled& compiled, const PlanRequest& request, problem::Bytes budget) {
  PANTOUM_ASSIGN(const cost::DeviceProfile device, cost::load_device(request.device));
  for (Program& program : compiled.programs) {
    cost::align_to_blocks(program.cost);
    cost::add_slices(program.cost, program.graph, device.compute,
                     {.budget = budget, .threads = request.kernel_threads});
  }
  return {};
}

Result<void> take_slices(const problem::CostGraph& given, Compiled& compiled, const PlanRequest& request,
                         problem::Bytes budget) {
  PANTOUM_ASSIGN(const cost::DeviceProfile device, cost::load_device(request.device));
  for (Program& program : compiled.programs) {
    cost::align_to_blocks(program.cost);
    if (&program == &compiled.training())
      cost::take_slices_of(given, program.cost, program.graph, device.compute, request.kernel_threads);
    else
      cost::add_slices(program.cost, program.graph, device.compute,
                       {.budget = budget, .threads = request.kernel_threads});
  }
  return {};
}

GraphInSlices graphs_in_slices(const Compiled& compiled, const PlanRequest& request, const problem::CostGraph& first) {
  if (!may_slice(compiled, request)) return {};
  // Of the compiled step, what graphs are made of; the kernels that choices name live as long.
  auto made = std::make_shared<Compiled>();
  made->model = compiled.model, made->kernels = compiled.kernels;
  made->programs.push_back(compiled.training());
  if (problem::structure_hash(made->training().cost.graph) == problem::structure_hash(first))
    made->training().cost.graph = first;
  return [made = std::shared_ptr<const Compiled>(std::move(made)),
          request](problem::Bytes ram) -> Result<std::optional<problem::CostGraph>> {
    plan::PlanOptions options = request.options;
    options.question.budget = ram - request.reserve;
    if (!needs_slices(*made, options)) return std::nullopt;
    Compiled offered = *made;
    PANTOUM_TRY(offer_slices(offered, request, ram - request.reserve));
    return std::optional(std::move(offered.training().cost.graph));
  };
}

Result<InspectedSlices> inspect_slices(const ModelRequest& model, const PlanRequest& request) {
  PANTOUM_ASSIGN(Compiled compiled, compile_model(model, request));
  PANTOUM_ASSIGN(const problem::Predicted unplanned, unplanned_step(compiled.training().cost.graph, request));
  PANTOUM_ASSIGN(const plan::PlanOptions options, planner_options(compiled.training().cost.graph, request, unplanned));
  InspectedSlices found{.graph = {},
                        .question = options.question,
                        .unplanned_peak_bytes = unplanned.peak_bytes + request.reserve,
                        .lacks = what_slices_take(compiled)};
  if (needs_slices(compiled, options) && may_slice(compiled, request)) {
    PANTOUM_TRY(offer_slices(compiled, request, options.question.budget_bytes()));
    found.offered = true;
  }
  found.graph = std::move(compiled.training().cost.graph);
  return found;
}

}  // namespace pantoum::pipeline
