// The samples that a training reads, as the compiled model wants them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/label_range.h"
#include "data/preparation.h"
#include "ir/graph.h"
#include "pantoum/data.hpp"
#include "pantoum/trainer.hpp"

namespace pantoum::pipeline {

struct DataRequest {
  std::string path;
  DataOptions options = {};  // with a cache folder
  data::Preparation preparation = {};
};

// What a run does to samples. E0116, E0120 a setting out of its range.
[[nodiscard]] Result<data::Preparation> preparation_of(const TrainerOptions& options);

// The data set, read as the model wants it (its training or evaluation graph). The errors of data::open_data.
[[nodiscard]] Result<data::TrainTest> open_training_data(const DataRequest& request, const ir::Graph& model);
[[nodiscard]] Result<data::TrainTest> open_training_data(const DataRequest& request, const data::Wanted& wanted);

// One sample of what a training or evaluation graph reads: the model's inputs, then the targets.
[[nodiscard]] data::Wanted wanted_of(const ir::Graph& model);

// What the labels of each loss may be; 0 classes where they are no classes.
[[nodiscard]] std::vector<data::LabelRange> label_ranges(const ir::Graph& training, const ir::Graph& evaluation);

// E0262 a label that is no class, among those that are read at once.
[[nodiscard]] Result<void> check_labels(const data::TrainTest& data, const std::vector<data::LabelRange>& ranges);

// E0262 samples that do not fit the model's inputs and targets, or cannot be prepared as asked. Before anything is planned.
[[nodiscard]] Result<void> check_fit(const data::TrainTest& data, const data::Preparation& preparation,
                                     const ir::Graph& model);

// Bytes of the features of `samples` samples: of what `training`, the step of a head, reads.
[[nodiscard]] int64_t feature_bytes(const ir::Graph& training, int64_t samples);

// RAM that `prefetch` batches made ahead take beside the arena.
[[nodiscard]] int64_t prefetch_bytes(int64_t prefetch, const ir::Graph& training);

}  // namespace pantoum::pipeline
