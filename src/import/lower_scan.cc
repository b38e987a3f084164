// Along one axis: ArgMax, ArgMin, CumSum.
#include <array>

#include "import/integers.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

// The elements along the axis in the other order.
Result<ValueId> reversed(Node& node, ValueId x, size_t axis) {
  const ir::TensorType type = node.builder().type(x);
  ir::Attrs attrs;
  for (size_t d = 0; d < type.shape.size(); ++d)
    attrs.ints.insert(attrs.ints.end(), {d == axis ? type.shape[d] - 1 : 0, d == axis ? -1 : 1});
  return node.op(Kind::k_slice, {x}, std::move(attrs), {type});
}

// The last maximum is the first from the other end.
Result<void> lower_arg(Node& node, bool minimum) {
  const bool whole = computes_integers(node);
  PANTOUM_ASSIGN(ValueId x, whole ? node.value(0) : node.real(0));
  Shape shape = node.shape(0);
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", 0), shape.size()));
  const bool last = node.attributes().integer("select_last_index", 0) != 0;
  if (minimum) {
    PANTOUM_ASSIGN(x, whole ? whole_not(node, x) : node.op(Kind::k_neg, {x}));
  }
  if (last) {
    PANTOUM_ASSIGN(x, reversed(node, x, static_cast<size_t>(axis)));
  }
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_arg_max, {x}, {{axis}, {}}));
  if (last) {
    const ValueId end = whole_constant(node, ir::DType::kI64, {}, {shape[static_cast<size_t>(axis)] - 1});
    PANTOUM_ASSIGN(y, node.op(Kind::k_sub, {end, y}));
  }
  if (node.attributes().integer("keepdims", 1) != 0) {
    shape[static_cast<size_t>(axis)] = 1;
    PANTOUM_ASSIGN(y, node.reshape(y, shape));
  }
  node.set(0, y);
  return {};
}
Result<void> lower_arg_max(Node& node) {
  return lower_arg(node, false);
}
Result<void> lower_arg_min(Node& node) {
  return lower_arg(node, true);
}

Result<void> lower_cumsum(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, computes_integers(node) ? node.value(0) : node.real(0));
  PANTOUM_ASSIGN(const std::vector<int64_t> told, node.integers(1, "axis"));
  if (told.size() != 1) return fail("E0211", "its axis is not one number");
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(told[0], node.shape(0).size()));
  const int64_t exclusive = node.attributes().integer("exclusive", 0),
                reverse = node.attributes().integer("reverse", 0);
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_cumsum, {x}, {{axis, exclusive != 0, reverse != 0}, {}}));
  node.set(0, y);
  return {};
}

constexpr const char* kPosition = "its result is an integer: no gradient passes";
constexpr std::array kScanOperators = {
    OperatorEntry{"ArgMax", lower_arg_max, "slice sub arg_max", kPosition},
    OperatorEntry{"ArgMin", lower_arg_min, "neg bitwise slice sub arg_max", kPosition},
    OperatorEntry{"CumSum", lower_cumsum, "cumsum", "float32, int64, int32, uint8; constant axis"}};

}  // namespace

std::span<const OperatorEntry> scan_operators() {
  return kScanOperators;
}

}  // namespace pantoum::import
