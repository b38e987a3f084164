// What `predict` and `eval` share: a planned model, its trained weights, and the samples that are asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/output_folder.h"
#include "cli/cli.h"
#include "cli/planning.h"
#include "data/dataset.h"
#include "pipeline/planned_step.h"
#include "train/trainer.h"

namespace pantoum::cli {

struct TrainedAsked {
  Common common;
  std::string file, data, weights, split;  // file: of a plan or a model
  StepAsked step;                          // of a model
  DataOptions samples;
  TrainerOptions trainer;
  std::vector<std::string> of_model = {};  // options that were given and that a plan says itself
  bool has_loss = false;
};

// Adds what both verbs take. `asked` outlives the parsing; `splits`: what --split may be.
void add_trained_options(Verb& verb, TrainedAsked& asked, const std::vector<std::string>& splits);
// Notes which options were given: to be called in the verb's action.
void see_given(const Verb& verb, TrainedAsked& asked);

struct TrainedModel {
  std::shared_ptr<const base::TemporaryPath> contents, cache;  // outlive the others
  pipeline::PlannedStep step;
  std::unique_ptr<data::TrainTest> data;
  std::unique_ptr<train::Trainer> trainer;
  std::vector<const data::Dataset*> parts;  // of *data, as --split says

  [[nodiscard]] int64_t count() const;
};

// Plans the model with few steps of search where a model is named: a batch that is not given is 32, or half of that until the step fits. The
// loss matters where the `labels` of the data do, which then must be there.
//   errors  E0231 an option that the plan says itself; E0262 no such part of the data; those of planning, data and weights
[[nodiscard]] Result<TrainedModel> open_trained(const TrainedAsked& asked, bool labels);

}  // namespace pantoum::cli
