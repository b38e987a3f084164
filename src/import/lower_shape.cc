// Operators that change a tensor's shape and nothing else: they become aliases.
#include <algorithm>
#include <array>

#include "import/operators.h"
#include "import/shapes.h"
#include "import/weight_roles.h"

namespace pantoum::import {
namespace {

using ir::Shape;
using ir::ValueId;

Result<void> alias(Node& node, Shape shape) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  PANTOUM_ASSIGN(const ValueId y, node.reshape(x, std::move(shape)));
  node.set(0, y);
  return {};
}

Result<void> lower_reshape(Node& node) {
  PANTOUM_TRY(node.value(0));
  PANTOUM_ASSIGN(const std::vector<int64_t> wanted, node.integers(1, "new shape"));
  const bool allow_zero = node.attributes().integer("allowzero", 0) != 0;
  PANTOUM_ASSIGN(Shape shape, resolve_reshape(node.shape(0), wanted, allow_zero));
  return alias(node, std::move(shape));
}

Result<void> lower_flatten(Node& node) {
  PANTOUM_TRY(node.value(0));
  const Shape from = node.shape(0);
  const auto rank = static_cast<int64_t>(from.size());
  int64_t axis = node.attributes().integer("axis", 1);
  if (axis < -rank || axis > rank) return fail("E0211", "its axis is out of range");
  if (axis < 0) axis += rank;
  Shape shape = {1, 1};
  for (int64_t d = 0; d < rank; ++d) shape[d < axis ? 0 : 1] *= from[static_cast<size_t>(d)];
  return alias(node, shape);
}

Result<void> lower_squeeze(Node& node) {
  PANTOUM_TRY(node.value(0));
  PANTOUM_ASSIGN(const auto axes, node.integers_or_attribute(1, "axes"));
  PANTOUM_ASSIGN(Shape shape, squeezed(node.shape(0), axes));
  return alias(node, std::move(shape));
}

Result<void> lower_unsqueeze(Node& node) {
  PANTOUM_TRY(node.value(0));
  PANTOUM_ASSIGN(const auto axes, node.integers_or_attribute(1, "axes"));
  if (!axes) return fail("E0211", "it names no axes");
  PANTOUM_ASSIGN(Shape shape, unsqueezed(node.shape(0), *axes));
  return alias(node, std::move(shape));
}

Result<void> lower_identity(Node& node) {
  if (!node.has(0)) return fail("E0211", "its input 0 is missing");
  node.set(0, node.operand(0));
  return {};
}

constexpr std::array kShapeOperators = {
    OperatorEntry{"Reshape", lower_reshape, "", "the new shape must be known while importing"},
    OperatorEntry{"Flatten", lower_flatten}, OperatorEntry{"Squeeze", lower_squeeze},
    OperatorEntry{"Unsqueeze", lower_unsqueeze}, OperatorEntry{"Identity", lower_identity, "", "folded"}};

}  // namespace

std::span<const OperatorEntry> shape_operators() {
  return kShapeOperators;
}

}  // namespace pantoum::import
