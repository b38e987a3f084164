#include "aten/pieces.h"

namespace pantoum::aten {

using ir::Kind;
using ir::TensorType;
using ir::ValueId;

Result<ValueId> piece(Node& node, ValueId x, size_t axis, int64_t begin, int64_t count, int64_t step) {
  TensorType type = node.type_of(x);
  if (begin == 0 && step == 1 && count == type.shape[axis]) return x;
  std::vector<int64_t> places(2 * type.shape.size());
  for (size_t d = 0; d < type.shape.size(); ++d) places[2 * d + 1] = 1;
  places[2 * axis] = begin;
  places[2 * axis + 1] = step;
  type.shape[axis] = count;
  return node.op(Kind::k_slice, {x}, {std::move(places), {}}, {type});
}

Result<ValueId> filled(Node& node, const TensorType& type, double value) {
  const ValueId one = ir::is_float(type.dtype) ? node.constant(type.dtype, {}, {value})
                                               : node.whole_constant(type.dtype, {}, {static_cast<int64_t>(value)});
  return node.expand(one, type.shape);
}

Result<ValueId> padded(Node& node, ValueId x, size_t axis, int64_t before, int64_t after, double value) {
  TensorType type = node.type_of(x);
  if (before < 0 || after < 0) {
    const int64_t begin = std::max<int64_t>(0, -before), end = std::max<int64_t>(0, -after);
    PANTOUM_ASSIGN(x, piece(node, x, axis, begin, type.shape[axis] - begin - end));
    before = std::max<int64_t>(0, before);
    after = std::max<int64_t>(0, after);
    type = node.type_of(x);
  }
  if (before == 0 && after == 0) return x;
  if (value == 0 && ir::is_float(type.dtype)) {
    std::vector<int64_t> places(2 * type.shape.size());
    for (size_t d = 0; d < type.shape.size(); ++d) places[2 * d + 1] = 1;
    places[2 * axis] = before;
    type.shape[axis] += before + after;
    return node.op(Kind::k_slice_grad, {x}, {std::move(places), {}}, {type});
  }
  std::vector<ValueId> parts;
  const auto add = [&](int64_t count) -> Result<void> {
    if (count == 0) return {};
    type.shape[axis] = count;
    PANTOUM_ASSIGN(parts.emplace_back(), filled(node, type, value));
    return {};
  };
  PANTOUM_TRY(add(before));
  parts.push_back(x);
  PANTOUM_TRY(add(after));
  return joined(node, std::move(parts), static_cast<int64_t>(axis));
}

ValueId joined(Node& node, std::vector<ValueId> parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : node.builder().concat(node.label(), std::move(parts), axis);
}

}  // namespace pantoum::aten
