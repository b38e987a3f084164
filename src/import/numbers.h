// Small tensors with their elements widened: what constant folding computes on.
#pragma once

#include <optional>
#include <vector>

#include "import/tensor.h"

namespace pantoum::import {

// Elements are in `reals` for f32 and f64 (f32 rounded after every operation), else in `ints`.
struct Numbers {
  ir::DType dtype = ir::DType::kI64;
  ir::Shape shape;
  std::vector<int64_t> ints;
  std::vector<double> reals;

  [[nodiscard]] bool is_real() const { return ir::is_float(dtype); }
  [[nodiscard]] size_t size() const { return is_real() ? reals.size() : ints.size(); }
  // An element as either family; a real that no int64 holds gives 0.
  [[nodiscard]] double real(size_t element) const;
};

[[nodiscard]] Numbers to_numbers(const Tensor& tensor);
[[nodiscard]] Tensor to_tensor(const Numbers& numbers);

// A tensor of `shape` whose elements are those of `from` at `sources`.
[[nodiscard]] Numbers pick(const Numbers& from, ir::Shape shape, const std::vector<size_t>& sources);
// For every element of `to`, row-major, the element of `from` that broadcasting puts there. `from` must broadcast to
// `to`.
[[nodiscard]] std::vector<size_t> broadcast_sources(const ir::Shape& from, const ir::Shape& to);
// The shape that both broadcast to; none if they do not.
[[nodiscard]] std::optional<ir::Shape> broadcast_shapes(const ir::Shape& a, const ir::Shape& b);

}  // namespace pantoum::import
