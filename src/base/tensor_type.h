// A tensor's element type and extents.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/quantities.h"

namespace pantoum::base {

using Shape = std::vector<int64_t>;

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
  // The product of the extents; 0 if one is negative; saturates at 2^56, so that bytes() cannot overflow.
  [[nodiscard]] int64_t elements() const;
  [[nodiscard]] Bytes bytes() const { return elements() * size_of(dtype); }
};

// "[2,3]", "f32[2,3]".
[[nodiscard]] std::string to_text(const Shape& shape);
[[nodiscard]] std::string to_text(const TensorType& type);

}  // namespace pantoum::base
