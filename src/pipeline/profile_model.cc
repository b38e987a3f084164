#include "pipeline/profile_model.h"

#include <utility>

#include "problem/time_source.h"

namespace pantoum::pipeline {

Result<Profiled> profile_model(const ModelOptions& model, const ProfileRequest& request, plan::Infeasible* infeasible) {
  Profiled profiled;
  PANTOUM_ASSIGN(Compiled compiled, compile_model(model, request.plan));
  profiled.warnings = std::move(compiled.warnings);
  profiled.time_source = problem::time_source(compiled.training().cost.graph.device);
  if (request.storage) {
    PANTOUM_ASSIGN(profiled.storage, storage_table({.folder = request.page_file, .encrypt = request.encrypt_pages}));
  }
  if (request.steps > 0) {
    PlanRequest planning = request.plan;
    compiled.measuring_s = 0;  // it was no part of planning
    PANTOUM_TRY(plan_model(compiled, planning, nullptr, infeasible));
    PANTOUM_ASSIGN(profiled.steps, time_steps(compiled, {.steps = request.steps,
                                                         .page_file = request.page_file,
                                                         .encrypt_pages = request.encrypt_pages,
                                                         .stop = request.plan.options.stop}));
    profiled.plan = compiled.training().plan;
  }
  PANTOUM_ASSIGN(profiled.unplanned, unplanned_step(compiled.training().cost.graph, request.plan));
  profiled.costs = std::move(compiled.measured);
  return profiled;
}

}  // namespace pantoum::pipeline
