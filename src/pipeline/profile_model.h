// What each op of a model really takes on this machine, and what its steps take.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "pipeline/cluster_engines.h"
#include "pipeline/device_engine.h"
#include "pipeline/measure_storage.h"
#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

// How long the steps of a plan take on this machine, on made-up numbers.

struct TimingRequest {
  int steps = 20;         // after two that warm up
  std::string page_file;  // as train::TrainerOptions has it
  bool encrypt = true;
  std::vector<cost::HostEngine> engines = {};       // of the request that the plan was made for
  std::stop_token stop = {};                        // fewer steps, but one
  std::function<bool()> next = {};                  // if not empty, asked before each step that counts: false ends them
  std::function<void(problem::Seconds)> done = {};  // if not empty, told of each step that counts
};

struct StepTimes {
  std::vector<problem::Seconds> seconds;  // of every step, in order
  problem::Seconds median_s = 0, least_s = 0;
  problem::Bytes resident_bytes = 0;  // the process's peak while they ran
};

// Runs the first program of a planned model as training would (the same kernels, threads and page file), with the
// model's own contents as parameters, numbers in (0, 1] or zeros (indices, labels) as its inputs, and a learning rate of
// 0, so that every step is alike. E0105 the plan is of another device; E0251, E041x, E090x as train::Trainer::create; E0119
// `next` wanted no step.
[[nodiscard]] Result<StepTimes> time_steps(const Compiled& compiled, const TimingRequest& request);

struct ProfileRequest {
  PlanRequest plan;
  int steps = 0;                         // of the planned program that are run and timed; 0: none
  bool storage = false;                  // at several sizes and queue depths too
  const problem::Plan* reuse = nullptr;  // whose steps are run, in place of a plan made now
  // The same as `next` and `done` of TimingRequest.
  std::function<bool()> next_step = {};
  std::function<void(problem::Seconds)> step_done = {};
};

struct Profiled {
  cost::MeasuredCosts costs;
  std::string time_source;                     // of the step: "measured", "measured 83%, modelled by .."
  problem::Predicted unplanned;                // with everything kept
  std::optional<problem::Seconds> hand_off_s;  // between the engines; none: there is one
  std::optional<DeviceAnswer> device;          // none: no engine is an OpenCL device
  std::vector<ClusterAnswer> clusters;         // engines on other clusters of processors than the first
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
