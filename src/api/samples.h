// Batches and data sets of the public handles, as the trainer takes them.
#pragma once

#include <vector>

#include "data/dataset.h"
#include "pantoum/data.hpp"

namespace pantoum::api {

// As many samples as each array holds. E0262 other arrays than `wanted` says.
[[nodiscard]] Result<int64_t> check_arrays(const std::vector<BatchTensor>& wanted, const Batch& arrays);

// The same samples; keeps what `handle` holds.
[[nodiscard]] data::Dataset shared(const Dataset& handle);

}  // namespace pantoum::api
