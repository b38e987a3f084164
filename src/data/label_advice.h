// How labels that do not fit a loss are made into labels that do.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "data/dataset.h"

namespace pantoum::data {

// Advice on labels of another shape or type than the loss takes (`wanted`, without the batch; `dtype`): of the first samples it is looked at
// whether they are one-hot, or whole numbers.
[[nodiscard]] std::string advice_on_labels(const SampleFile& labels, std::span<const int64_t> wanted, base::DType dtype);

}  // namespace pantoum::data
