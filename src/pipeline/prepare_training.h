// From what a user asks for to what a trainer starts with: a checked plan of the step, its binary, data and first weights.
#pragma once

#include <functional>
#include <string>

#include "pipeline/planned_step.h"

namespace pantoum::plan {
struct Infeasible;
}

namespace pantoum::pipeline {

// What a use case has to say while it runs; each may be empty.
struct Listener {
  Dump dump = {};
  std::function<void(const std::string& note)> note = {};
  std::function<void(const std::string& warning)> warning = {};
  // prepare_training calls it when the graphs are made, before data are opened and anything is planned. Its error ends the use case.
  std::function<Result<void>(const ir::Graph& training)> compiled = {};
  // prepare_training calls it when the plans are made, before anything is written. Its error ends the use case.
  std::function<Result<void>(const Compiled& compiled, const data::TrainTest& data)> planned = {};
};

struct TrainingRequest {
  ModelRequest model;
  PlanRequest plan;  // its epochs; the samples are counted in the data
  DataRequest data;
  std::string weights_path;              // where the first contents are written
  std::string plan_path;                 // where the plan is written
  const problem::Plan* reuse = nullptr;  // a plan of the same step, taken as it is
};

struct PreparedTraining {
  PlannedStep step;
  data::TrainTest data;
  int64_t feature_bytes = 0;
};

// Graphs, data, checks, costs, plans, files: each a step of its own. Errors as make_graphs, open_training_data, add_costs,
// plan_model and finish_step have them; with E0301 and E0302
// `infeasible`, when given, is filled.
[[nodiscard]] Result<PreparedTraining> prepare_training(const TrainingRequest& request, const Listener& listener,
                                                        plan::Infeasible* infeasible = nullptr);

// A budget that is too small may do with other options: the help says so. Where tensors that the batch does not change (parameters, moments,
// gradients of parameters) take more than the budget in one op, a note names them with their sizes, and the help has what makes them fewer. No budget chooses kernels or fusions by itself,
// because they may give other bits.
[[nodiscard]] Error with_leaner_options(Error error, const Compiled& compiled, const PlanRequest& request);

}  // namespace pantoum::pipeline
