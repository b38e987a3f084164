// The options that say where samples come from and what is done to them.
#pragma once

#include <string>
#include <vector>

#include "cli/line/options.h"
#include "data/preparation.h"
#include "pipeline/training_data.h"

namespace pantoum::cli {

struct DataWords {
  std::string data, test_data, cache;  // cache: "" beside the output
  std::vector<std::string> label_columns, normalize, augment;
  int64_t prefetch = 0;
  std::string shuffle = "on";
};

// `feature_cache`: ModelWords' own.
void add_data_options(Verb& verb, DataWords& words, std::string& feature_cache);
void add_feature_option(Verb& verb, std::string& feature_cache);

// `output`: the file or folder beside which data are kept that cannot be read in place. E0120 a --normalize that is no
// mean and deviation, an --augment that is no augmentation.
[[nodiscard]] Result<pipeline::DataRequest> data_request(const DataWords& words, const std::string& output);

}  // namespace pantoum::cli
