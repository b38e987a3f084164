// The samples that a training reads, as the compiled model wants them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/preparation.h"
#include "ir/graph.h"

namespace pantoum::pipeline {

struct DataRequest {
  std::string path, test_path;  // test_path: "" where `path` holds the test set
  std::string cache_folder;     // for what cannot be read in place
  std::vector<std::string> label_columns = {};
  data::Preparation preparation = {};
  int64_t prefetch = 0;  // batches made ahead
};

// The data set, read as the model wants it (its training or evaluation graph). The errors of data::open_data.
[[nodiscard]] Result<data::TrainTest> open_training_data(const DataRequest& request, const ir::Graph& model);

// Bytes of the features of `samples` samples: of what `training`, the step of a head, reads.
[[nodiscard]] int64_t feature_bytes(const ir::Graph& training, int64_t samples);

// RAM that batches made ahead take beside the arena.
[[nodiscard]] int64_t prefetch_bytes(const DataRequest& request, const ir::Graph& training);

}  // namespace pantoum::pipeline
