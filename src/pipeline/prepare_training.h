// From what a user asks for to what a trainer starts with: a checked plan of the step, its binary, data and first weights.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/pipeline.h"
#include "pipeline/training_data.h"

namespace pantoum::plan {
struct Infeasible;
}

namespace pantoum::pipeline {

// What a use case has to say while it runs; each may be empty.
struct Listener {
  Dump dump = {};
  std::function<void(const std::string& note)> note = {};
  std::function<void(const std::string& warning)> warning = {};
  // Of prepare_training: the plans are made, and nothing was written yet. Its error ends the use case.
  std::function<Result<void>(const Compiled& compiled, const data::TrainTest& data)> planned = {};
};

struct TrainingRequest {
  ModelOptions model;
  PlanRequest plan;  // its length's epochs; the samples are counted in the data
  DataRequest data;
  std::string weights_path;              // where the first contents are written
  std::string plan_path;                 // where the plan is written
  bool keeps_other_plan = false;         // what stands there of another run is kept beside it (".previous")
  const problem::Plan* reuse = nullptr;  // a plan of the same step, taken as it is
};

// All that remains of the compiler once training starts: everything else is given back first.
struct PreparedTraining {
  std::shared_ptr<const host::KernelSet> kernels;
  std::vector<std::byte> binary;
  data::TrainTest data;
  std::vector<std::string> inputs;       // the model's, in its order
  std::vector<std::string> features;     // what a step reads instead, where they are kept
  std::vector<data::LabelRange> labels;  // what each loss takes
  int64_t feature_bytes = 0;
  std::string graph_hash;  // of the training step
  std::string numerics;    // numerics_of
  double energy_j = 0;     // of a whole step, micro-batches included
  problem::Bytes budget_bytes = 0, unplanned_peak_bytes = 0;
};

// Errors as compile_model, open_training_data, plan_model and write_initial_weights have them; with E0301 and E0302
// `infeasible`, when given, is filled.
[[nodiscard]] Result<PreparedTraining> prepare_training(const TrainingRequest& request, const Listener& listener,
                                                        plan::Infeasible* infeasible = nullptr);

// A budget that is too small may do with other options: the help says so. No budget chooses kernels or fusions by itself,
// because they may give other bits.
[[nodiscard]] Error with_leaner_options(Error error, const Compiled& compiled);

}  // namespace pantoum::pipeline
