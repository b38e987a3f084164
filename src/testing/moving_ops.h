// Slices, joins, splits and gathers for samples of substitutions.
#pragma once

#include <utility>
#include <vector>

#include "testing/rule_sample.h"

namespace pantoum::rewrite {

inline ir::Attrs whole_slice(const Shape& shape) {
  ir::Attrs attrs;
  for (size_t d = 0; d < shape.size(); ++d) attrs.ints.insert(attrs.ints.end(), {0, 1});
  return attrs;
}

inline ValueId sliced(Sample& s, ValueId x, int64_t axis, int64_t start, int64_t count, int64_t step = 1) {
  ir::TensorType type = s.type_of(x);
  ir::Attrs attrs = whole_slice(type.shape);
  type.shape[static_cast<size_t>(axis)] = count;
  attrs.ints[static_cast<size_t>(2 * axis)] = start;
  attrs.ints[static_cast<size_t>(2 * axis + 1)] = step;
  return s.op(Kind::k_slice, {x}, attrs, {type});
}

inline ValueId concat(Sample& s, std::vector<ValueId> parts, int64_t axis) {
  return s.op(Kind::k_concat, std::move(parts), {{axis}, {}});
}

inline std::vector<ValueId> split(Sample& s, ValueId x, int64_t axis, const std::vector<int64_t>& extents) {
  std::vector<ir::TensorType> types;
  for (const int64_t extent : extents) {
    types.push_back(s.type_of(x));
    types.back().shape[static_cast<size_t>(axis)] = extent;
  }
  return s.c.ops(Kind::k_split, {x}, {{axis}, {}}, types);
}

inline ValueId indices(Sample& s, int64_t count, int64_t rows) {
  std::vector<int64_t> all;
  for (int64_t at = 0; at < count; ++at) all.push_back(s.between(0, rows - 1));
  return s.c.builder.constant_i64("indices", {count}, all);
}

// Ends in an op that is no kin of what the rules look for.
inline ValueId end(Sample& s, ValueId x) {
  return s.op(Kind::k_softplus, {x});
}

inline std::vector<ValueId> parts(Sample& s, const Shape& like, size_t axis, const std::vector<int64_t>& extents) {
  std::vector<ValueId> all;
  for (const int64_t extent : extents) {
    Shape shape = like;
    shape[axis] = extent;
    all.push_back(s.made(shape));
  }
  return all;
}

}  // namespace pantoum::rewrite
