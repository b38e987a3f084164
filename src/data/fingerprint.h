// What tells one data set from another.
#pragma once

#include <string>

#include "data/dataset.h"

namespace pantoum::data {

// 16 hexadecimal digits of the samples' number, types and shapes, and of their bytes: all of them up to about
// `most_bytes`, else of samples spread evenly over the set, the first and the last among them. Where the set lies, and
// the format it is in, are no part of it. Reads at most about `most_bytes`; memory: a sample. E0260.
[[nodiscard]] Result<std::string> fingerprint_of(const Dataset& data, int64_t most_bytes = int64_t{64} << 20);

}  // namespace pantoum::data
