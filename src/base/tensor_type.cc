#include "base/tensor_type.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace pantoum::base {

int64_t TensorType::elements() const {
  constexpr int64_t kMost = int64_t{1} << 56;
  if (std::any_of(shape.begin(), shape.end(), [](int64_t extent) { return extent <= 0; })) return 0;
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent > kMost / count) return kMost;
    count *= extent;
  }
  return count;
}

std::string to_text(const Shape& shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

std::string to_text(const TensorType& type) {
  return std::string(name_of(type.dtype)) + to_text(type.shape);
}

}  // namespace pantoum::base
