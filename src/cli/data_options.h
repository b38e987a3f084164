// The options that say where samples come from and what is done to them.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "data/dataset.h"
#include "data/preparation.h"
#include "ir/graph.h"

namespace pantoum::cli {

struct DataWords {
  std::string data, test_data, cache;  // cache: "" beside the output
  std::vector<std::string> label_columns, normalize, augment;
  int64_t prefetch = 0;
  std::string feature_cache;  // "": none; else bytes
};

void add_data_options(Verb& verb, DataWords& words);
void add_feature_option(Verb& verb, std::string& feature_cache);

// --normalize and --augment. E0120 what is no mean and deviation, or no augmentation.
[[nodiscard]] Result<data::Preparation> preparation_of(const DataWords& words);

// The data set, read as the model wants it (its training or evaluation graph). The errors of data::open_data.
[[nodiscard]] Result<data::TrainTest> open_data(const DataWords& words, const std::string& cache,
                                                const ir::Graph& model);

// Are features to be kept? Augmentations change the backbone's input in every epoch: then they are not, and stderr says
// so. E0110 a limit without its unit.
[[nodiscard]] Result<bool> wants_features(const DataWords& words);

// Bytes of the features of `samples` samples: of what `training`, the step of a head, reads.
[[nodiscard]] int64_t feature_bytes(const ir::Graph& training, int64_t samples);

// RAM that --prefetch takes beside the arena.
[[nodiscard]] int64_t prefetch_bytes(const DataWords& words, const ir::Graph& training);

}  // namespace pantoum::cli
