#include "pipeline/profile_model.h"

#include <utility>

#include "pipeline/request_json.h"
#include "problem/cost_graph.h"

namespace pantoum::pipeline {

Result<Profiled> profile_model(const ModelRequest& model, const ProfileRequest& request, plan::Infeasible* infeasible) {
  Profiled profiled;
  PlanRequest planning = request.plan;
  if (request.reuse != nullptr) PANTOUM_TRY(take_graph_of(*request.reuse, planning.rewrite));
  if (request.steps == 0) planning.rewrite.search = false;  // nothing is planned
  PANTOUM_ASSIGN(Compiled compiled, compile_model(model, planning));
  profiled.warnings = std::move(compiled.warnings);
  profiled.time_source = problem::time_source(compiled.training().cost.graph.device);
  if (request.storage) {
    PANTOUM_ASSIGN(profiled.storage, storage_table({.folder = planning.settings.page_file.value_or(""),
                                                    .encrypt = planning.settings.page_encryption}));
  }
  if (request.steps > 0) {
    compiled.measuring_s = compiled.costing_s = 0;  // it was no part of planning
    PANTOUM_TRY(plan_model(compiled, planning, request.reuse, infeasible));
    PANTOUM_ASSIGN(profiled.steps, time_steps(compiled, {.steps = request.steps,
                                                         .page_file = planning.settings.page_file.value_or(""),
                                                         .encrypt = planning.settings.page_encryption,
                                                         .stop = request.plan.options.stop,
                                                         .next = request.next_step,
                                                         .done = request.step_done}));
    profiled.plan = compiled.training().plan;
    profiled.predicted_s = expected_seconds(compiled, *profiled.plan);
  }
  PANTOUM_ASSIGN(profiled.unplanned, unplanned_step(compiled.training().cost.graph, planning));
  profiled.costs = std::move(compiled.measured);
  return profiled;
}

}  // namespace pantoum::pipeline
