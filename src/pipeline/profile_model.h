// What each op of a model really takes on this machine, and what its steps take.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pipeline/measure_storage.h"
#include "pipeline/pipeline.h"
#include "pipeline/time_steps.h"

namespace pantoum::pipeline {

struct ProfileRequest {
  PlanRequest plan;
  int steps = 0;         // of the planned program that are run and timed; 0: none
  bool storage = false;  // at several sizes and queue depths too
  const problem::Plan* reuse = nullptr;  // whose steps are run, in place of a plan made now
  // As TimingRequest has them.
  std::function<bool()> next_step = {};
  std::function<void(problem::Seconds)> step_done = {};
};

struct Profiled {
  cost::MeasuredCosts costs;
  std::string time_source;       // of the step: "measured", "measured 83%, modelled by .."
  problem::Predicted unplanned;  // with everything kept
  std::vector<StorageSpeed> storage;
  std::optional<problem::Plan> plan;  // of the steps, where some were run
  std::optional<StepTimes> steps;
  problem::Seconds predicted_s = 0;  // of a step: the plan's, and what its transfers take of the processor
  std::vector<std::string> warnings;
};

// Measures what the store does not know well (request.measure.settle), then plans and runs steps where some are asked
// for. Errors as compile_model, plan_model and time_steps; E0114 a device that is not this machine.
[[nodiscard]] Result<Profiled> profile_model(const ModelRequest& model, const ProfileRequest& request,
                                             plan::Infeasible* infeasible);

}  // namespace pantoum::pipeline
