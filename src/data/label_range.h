// Finds labels that are no class of the model, before training begins.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "data/dataset.h"

namespace pantoum::data {

// The labels of one loss must be below `classes`. Labels below 0 and those equal to `ignore` are passed over. 0 classes: any label fits.
struct LabelRange {
  int64_t classes = 0, ignore = -1;
};

// E0262 a label is out of range: with the value, the sample (from 0) and the file of the first, and how many there are. Of more than
// `most_bytes` of labels only the first ones are read.
[[nodiscard]] Result<void> check_labels(const Dataset& data, std::span<const LabelRange> ranges,
                                        uint64_t most_bytes = std::numeric_limits<uint64_t>::max());

}  // namespace pantoum::data
