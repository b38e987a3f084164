// Labels that are no class of the model, found before a step meets one.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "data/dataset.h"

namespace pantoum::data {

// What the labels of one loss may be: below `classes`; those below 0, and `ignore`, are passed over. 0 classes: anything.
struct LabelRange {
  int64_t classes = 0, ignore = -1;
};

// E0262 with the value, the sample (from 0) and the file of the first label that is out of range, and how many there are.
// Where there are more than `most_bytes` of labels, those behind them are not looked at.
[[nodiscard]] Result<void> check_labels(const Dataset& data, std::span<const LabelRange> ranges,
                                        uint64_t most_bytes = std::numeric_limits<uint64_t>::max());

}  // namespace pantoum::data
