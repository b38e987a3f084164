// Samples in the caller's memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/dtype.h"
#include "base/tensor_type.h"
#include "data/dataset.h"

namespace pantoum::data {

// `bytes` holds `count` samples of `shape` one behind the other, at any alignment, and outlives the result.
[[nodiscard]] std::unique_ptr<SampleFile> memory_samples(base::DType dtype, base::Shape shape, int64_t count,
                                                         std::span<const std::byte> bytes);

}  // namespace pantoum::data
