// Finds samples that are NaN or infinite, where a training has failed.
#pragma once

#include "data/dataset.h"

namespace pantoum::data {

// Reads inputs and targets of floating point until a value is not finite. E0262 with the array, the sample (from 0) and its file; E0260.
[[nodiscard]] Result<void> check_finite(const Dataset& data);

}  // namespace pantoum::data
