// What the folders of element-by-element operators share: constants broadcast to one shape, combined element by element.
#pragma once

#include "import/fold.h"

namespace pantoum::import {

inline double rounded(ir::DType dtype, double value) {
  return dtype == ir::DType::kF32 ? static_cast<double>(static_cast<float>(value)) : value;
}

struct FoldedOperands {
  ir::Shape shape;
  std::vector<size_t> left, right;
};

inline Result<FoldedOperands> broadcast_constants(const FoldCall& call, const Numbers& a, const Numbers& b) {
  const std::optional<ir::Shape> shape = broadcast_shapes(a.shape, b.shape);
  if (!shape) return fail("E0211", "constants do not broadcast to one shape");
  PANTOUM_TRY(check_folded_size(call, *shape));
  return FoldedOperands{*shape, broadcast_sources(a.shape, *shape), broadcast_sources(b.shape, *shape)};
}

template <class Ints, class Reals>
Result<Numbers> fold_pairs(const FoldCall& call, Ints on_ints, Reals on_reals) {
  const Numbers &a = *call.inputs[0], &b = *call.inputs[1];
  if (a.is_real() != b.is_real()) return fail("E0211", "constants differ in type");
  PANTOUM_ASSIGN(const FoldedOperands operands, broadcast_constants(call, a, b));
  Numbers result{a.dtype, operands.shape, {}, {}};
  for (size_t element = 0; element < operands.left.size(); ++element) {
    const size_t left = operands.left[element], right = operands.right[element];
    if (a.is_real()) {
      result.reals.push_back(rounded(a.dtype, on_reals(a.reals[left], b.reals[right])));
    } else {
      result.ints.push_back(on_ints(a.ints[left], b.ints[right]));
    }
  }
  return result;
}

template <class Compare>
Result<Numbers> fold_comparison(const FoldCall& call, Compare holds) {
  const Numbers &a = *call.inputs[0], &b = *call.inputs[1];
  if (a.is_real() != b.is_real()) return fail("E0211", "constants differ in type");
  PANTOUM_ASSIGN(const FoldedOperands operands, broadcast_constants(call, a, b));
  Numbers result{ir::DType::kBool, operands.shape, {}, {}};
  for (size_t element = 0; element < operands.left.size(); ++element) {
    const size_t left = operands.left[element], right = operands.right[element];
    result.ints.push_back(a.is_real() ? holds(a.reals[left], b.reals[right]) : holds(a.ints[left], b.ints[right]));
  }
  return result;
}

template <class Ints, class Reals>
Result<Numbers> fold_each(const FoldCall& call, Ints on_ints, Reals on_reals) {
  Numbers result = *call.inputs[0];
  for (int64_t& value : result.ints) value = on_ints(value);
  for (double& value : result.reals) value = rounded(result.dtype, on_reals(value));
  return result;
}

}  // namespace pantoum::import
