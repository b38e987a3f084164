#include "import/numbers.h"

#include <algorithm>

namespace pantoum::import {

double Numbers::real(size_t element) const {
  return is_real() ? reals[element] : static_cast<double>(ints[element]);
}

Numbers to_numbers(const Tensor& tensor) {
  Numbers numbers{tensor.type.dtype, tensor.type.shape, {}, {}};
  if (numbers.is_real()) {
    numbers.reals = *to_reals(tensor);
  } else {
    numbers.ints = *to_ints(tensor);
  }
  return numbers;
}

Tensor to_tensor(const Numbers& numbers) {
  return numbers.is_real() ? make_tensor(numbers.dtype, numbers.shape, numbers.reals)
                           : make_tensor(numbers.dtype, numbers.shape, numbers.ints);
}

Numbers pick(const Numbers& from, ir::Shape shape, const std::vector<size_t>& sources) {
  Numbers picked{from.dtype, std::move(shape), {}, {}};
  for (const size_t source : sources) {
    if (from.is_real()) {
      picked.reals.push_back(from.reals[source]);
    } else {
      picked.ints.push_back(from.ints[source]);
    }
  }
  return picked;
}

std::vector<size_t> broadcast_sources(const ir::Shape& from, const ir::Shape& to) {
  const size_t rank = to.size(), pad = rank - from.size();
  std::vector<size_t> strides(rank, 0);
  size_t stride = 1;
  for (size_t d = rank; d-- > pad;) {
    const auto extent = static_cast<size_t>(from[d - pad]);
    strides[d] = extent == 1 ? 0 : stride;
    stride *= extent;
  }
  const auto count = static_cast<size_t>(count_elements(to).value_or(0));
  std::vector<size_t> sources(count);
  std::vector<int64_t> at(rank, 0);
  size_t source = 0;
  for (size_t element = 0; element < count; ++element) {
    sources[element] = source;
    for (size_t d = rank; d-- > 0;) {
      source += strides[d];
      if (++at[d] < to[d]) break;
      source -= strides[d] * static_cast<size_t>(to[d]);
      at[d] = 0;
    }
  }
  return sources;
}

std::optional<ir::Shape> broadcast_shapes(const ir::Shape& a, const ir::Shape& b) {
  ir::Shape shape(std::max(a.size(), b.size()), 1);
  for (size_t back = 1; back <= shape.size(); ++back) {
    const int64_t left = back <= a.size() ? a[a.size() - back] : 1;
    const int64_t right = back <= b.size() ? b[b.size() - back] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    shape[shape.size() - back] = left == 1 ? right : left;
  }
  return shape;
}

}  // namespace pantoum::import
