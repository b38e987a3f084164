// ReduceMean, ReduceSum and Expand.
#include <array>

#include "import/numbers.h"
#include "import/operators.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

Result<void> reduce(Node& node, Kind kind) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  const Shape shape = node.shape(0);
  PANTOUM_ASSIGN(const auto told, node.integers_or_attribute(1, "axes"));
  std::vector<int64_t> axes;
  PANTOUM_ASSIGN(axes, normalize_axes(told.value_or(axes), shape.size()));
  int64_t mask = 0;
  for (const int64_t axis : axes) mask |= int64_t{1} << axis;
  const bool all = axes.empty() && node.attributes().integer("noop_with_empty_axes", 0) == 0;
  if (all) mask = (int64_t{1} << shape.size()) - 1;
  const bool keep = node.attributes().integer("keepdims", 1) != 0;
  if (mask == 0) {
    node.set(0, x);
    return {};
  }
  PANTOUM_ASSIGN(ValueId y, node.op(kind, {x}, {{mask}, {}}));
  if (keep) {
    Shape kept = shape;
    for (size_t d = 0; d < kept.size(); ++d) kept[d] = (mask >> d & 1) != 0 ? 1 : kept[d];
    PANTOUM_ASSIGN(y, node.reshape(y, kept));
  }
  node.set(0, y);
  return {};
}

Result<void> lower_reduce_mean(Node& node) {
  return reduce(node, Kind::k_reduce_mean);
}
Result<void> lower_reduce_sum(Node& node) {
  return reduce(node, Kind::k_reduce_sum);
}

Result<void> lower_expand(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const Shape wanted, node.integers(1, "target shape"));
  const ir::TensorType from = node.type(0);
  const auto shape = count_elements(wanted) ? broadcast_shapes(from.shape, wanted) : std::nullopt;
  if (!shape) return fail("E0211", "its input does not broadcast to the shape " + ir::to_text(wanted));
  ValueId y = x;
  if (*shape != from.shape) {
    PANTOUM_ASSIGN(y, node.op(Kind::k_expand, {x}, {{}, {1.0}}, {{from.dtype, *shape}}));
  }
  node.set(0, y);
  return {};
}

constexpr std::array kOperators = {OperatorEntry{"ReduceMean", lower_reduce_mean},
                                   OperatorEntry{"ReduceSum", lower_reduce_sum}, OperatorEntry{"Expand", lower_expand}};

}  // namespace

std::span<const OperatorEntry> reduce_operators() {
  return kOperators;
}

}  // namespace pantoum::import
