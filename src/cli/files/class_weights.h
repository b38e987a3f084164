// Class weights of a loss that are in a file.
#pragma once

#include <vector>

#include "base/result.h"
#include "cli/line/facts.h"

namespace pantoum::cli {

// Replaces the file in `--loss cross_entropy,class_weights=FILE.npy` by its numbers, as one could have written them: settings and records then hold
// the weights. The file is an input as others are. E0201; E0261 it is no array of one dimension of numbers; E0116 a number is not finite.
[[nodiscard]] Result<void> read_class_weights(std::vector<Given>& given);

}  // namespace pantoum::cli
