// A fingerprint that tells one data set from another.
#pragma once

#include <string>

#include "data/dataset.h"

namespace pantoum::data {

// 16 hexadecimal digits that depend on the number, types, shapes and bytes of the samples: on all bytes of a set of up to about
// `most_bytes`, else on samples spread evenly over the set, with the first and the last. They do not depend on the place of the set or its
// format. Reads at most about `most_bytes`. Memory: one sample. E0260.
[[nodiscard]] Result<std::string> fingerprint_of(const Dataset& data, int64_t most_bytes = int64_t{64} << 20);

}  // namespace pantoum::data
