#include "pipeline/slices.h"

#include <algorithm>

#include "cost/slices.h"
#include "plan/attempts/planners.h"
#include "plan/engine_search.h"

namespace pantoum::pipeline {

namespace {

// The same, whatever the kernels.
bool may_slice_with_other_kernels(const Compiled& compiled, const PlanRequest& request) {
  const std::vector<problem::Tensor>& tensors = compiled.training().cost.graph.tensors;
  return std::ranges::any_of(tensors, [](const auto& tensor) { return tensor.start == problem::Home::kAux; }) &&
         !request.on_engines() && request.runs("slices") && request.settings.planner == plan::kOwnPlanner &&
         compiled.training().cost.graph.device.pager.mode != problem::PagerMode::kNone;
}

}  // namespace

bool may_slice(const Compiled& compiled, const PlanRequest& request) {
  return may_slice_with_other_kernels(compiled, request) && compiled.kernels->back_end() == nullptr;
}

bool needs_slices(const Compiled& compiled, const plan::PlanOptions& options) {
  return std::ranges::any_of(compiled.programs, [&](const Program& program) {
    return plan::least_working_set_bytes(program.cost.graph, options) > options.question.budget_bytes();
  });
}

Error with_slices_told(Error error, const Compiled& compiled, const PlanRequest& request,
                       const plan::PlanOptions& options) {
  const bool other_kernels = compiled.kernels->back_end() != nullptr && may_slice_with_other_kernels(compiled, request);
  if (error.code == "E0301" && other_kernels && needs_slices(compiled, options))
    error.help += ", or --kernels portable, which compute an op in slices where it does not fit whole";
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

}  // namespace pantoum::pipeline
