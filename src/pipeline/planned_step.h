// The result of the compiler once a step is planned. Training, firmware and reports are made from it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "pipeline/pipeline.h"
#include "pipeline/training_data.h"
#include "train/trainer.h"

namespace pantoum::pipeline {

struct BatchPart {
  std::string name;
  base::TensorType type;
};

struct PlannedStep {
  std::string name;
  ModelRequest model;
  PlanOptions settings;  // as requested, with the budget of the plan
  problem::Plan plan;    // of the training step
  check::Found found;
  problem::Predicted unplanned;
  std::shared_ptr<const host::KernelSet> kernels;
  int threads = 1;
  std::vector<int> engines = {};               // threads of each, 0: the OpenCL device; empty: one engine
  std::vector<std::vector<int>> engine_processors = {};  // of each
  int opencl_device = 0;                       // its number
  std::vector<std::byte> binary;               // of all programs
  std::vector<BatchPart> inputs, targets;      // of the whole model, in its order
  std::vector<std::string> planning_notes;     // as Compiled has them; among `notes` too
  std::string no_prediction;                   // why the plan gives no outputs; "": it gives some
  std::vector<std::string> prediction_inputs;  // the inputs and targets that the outputs are made of
  std::vector<std::string> step_inputs;        // the inputs that the training step reads, without targets
  std::vector<std::string> features;           // the inputs that are cached features, if the step begins with features
  std::vector<std::string> warnings, notes;    // of the model and its graphs
  std::vector<std::string> weight_notes;       // how the first weights were found
  data::Wanted wanted;                         // one sample
  std::vector<data::LabelRange> labels;        // the labels that each loss accepts
  int64_t feature_row_bytes = 0;               // of one sample's features
  std::string graph_hash;                      // of the training step
  std::string numerics;                        // numerics_of
  double energy_j = 0;                         // of a whole step, micro-batches included

  [[nodiscard]] std::vector<std::string> input_names() const;
};

// Makes the step from planned programs, which it takes over. Writes the initial weights to `weights_path`. E0240 to E0242; E0901.
[[nodiscard]] Result<PlannedStep> finish_step(Compiled& compiled, const PlanRequest& request,
                                              const std::string& weights_path);

// Makes the step from an existing plan, with the times in the plan and without a search. E0231: the plan is of another step.
[[nodiscard]] Result<PlannedStep> step_of_plan(const problem::Plan& given, const ModelRequest& model,
                                               PlanRequest request, const std::string& weights_path);

// What a plan file says of itself. E0293 it does not say which model it is of; E0230 it says so in a way that is not
// understood. `where` names the plan.
struct PlanRecord {
  ModelRequest model;
  PlanRequest request;
};
[[nodiscard]] Result<PlanRecord> record_of(const problem::Plan& plan, const std::string& where);

// How a trainer runs the step with these settings; `kernels` outlive it. E0115 to E0120 a setting out of its range, or
// more batches made ahead than the plan has room for.
[[nodiscard]] Result<train::TrainerOptions> trainer_options(const PlannedStep& step, const host::KernelSet& kernels,
                                                            const TrainerOptions& options);

// What the bits of a run follow from, where --allow-numerics-change has changed them: kept in checkpoints.

// The substitutions of a planned model and the class of numerics of every op that is computed by another than its
// first, as JSON; "": the bits are those of every plan without the flag.
[[nodiscard]] std::string numerics_of(const Compiled& compiled);

// Makes a request go on with them: that graph, those classes, and no search. E0243 with `where`: the text is none.
[[nodiscard]] Result<void> keep_numerics(const std::string& numerics, const std::string& where, PlanRequest& request);

}  // namespace pantoum::pipeline
