// Element by element, one input; softmax along rows; dropout.
#include <algorithm>
#include <array>
#include <limits>

#include "import/integers.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

Result<void> unary(Node& node, Kind kind, ir::Attrs attrs = {}) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const ValueId y, node.op(kind, {x}, std::move(attrs)));
  node.set(0, y);
  return {};
}

template <Kind kKind>
Result<void> lower_unary(Node& node) {
  return unary(node, kKind);
}

Result<void> lower_leaky_relu(Node& node) {
  return unary(node, Kind::k_leaky_relu, {{}, {node.attributes().real("alpha", 0.01)}});
}

Result<void> lower_gelu(Node& node) {
  const std::string approximate = node.attributes().text("approximate", "none");
  if (approximate != "none" && approximate != "tanh") {
    return unsupported("its approximation is '" + approximate + "'", "use approximate=\"none\" or \"tanh\"");
  }
  return unary(node, Kind::k_gelu, {{approximate == "tanh" ? 1 : 0}, {}});
}

Result<void> lower_neg(Node& node) {
  return computes_integers(node) ? lower_integer_neg(node) : unary(node, Kind::k_neg);
}

// min(max(x, low), high), of integers and of bounds that the model computes.
Result<void> clip_between(Node& node) {
  PANTOUM_ASSIGN(ValueId y, node.value(0));
  for (size_t bound : {1u, 2u}) {
    if (!node.has(bound)) continue;
    PANTOUM_ASSIGN(ValueId limit, node.value(bound));
    if (node.type(bound).elements() != 1) return fail("E0211", "a bound is not one number");
    PANTOUM_ASSIGN(limit, node.reshape(limit, {}));
    PANTOUM_ASSIGN(y, node.op(bound == 1 ? Kind::k_maximum : Kind::k_minimum, {y, limit}));
  }
  node.set(0, y);
  return {};
}

// A bound that is absent, or infinite, is the largest finite number.
Result<void> lower_clip(Node& node) {
  if (computes_integers(node)) return clip_between(node);
  constexpr double kMost = std::numeric_limits<float>::max();
  std::array<double, 2> bounds = {-kMost, kMost};
  for (size_t bound : {0u, 1u}) {
    if (!node.has(bound + 1)) continue;
    const std::optional<double> scalar = node.scalar(bound + 1);
    if (!scalar) return clip_between(node);
    bounds[bound] = std::clamp(*scalar, -kMost, kMost);  // (a NaN stays one, and is refused below)
  }
  if (!(bounds[0] <= bounds[1])) return fail("E0211", "its lower bound is above its upper bound");
  return unary(node, Kind::k_clip, {{}, {bounds[0], bounds[1]}});
}

// Before opset 13 all dimensions from the axis on are one row.
Result<void> rows(Node& node, Kind kind) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  const Shape shape = node.shape(0);
  const bool flattens = node.opset() < 13;
  PANTOUM_ASSIGN(int64_t axis, normalize_axis(node.attributes().integer("axis", flattens ? 1 : -1), shape.size()));
  ValueId y = x;
  if (flattens && axis + 1 < static_cast<int64_t>(shape.size())) {
    Shape flat = {1, 1};
    for (size_t d = 0; d < shape.size(); ++d) flat[static_cast<int64_t>(d) < axis ? 0 : 1] *= shape[d];
    PANTOUM_ASSIGN(y, node.reshape(y, flat));
    axis = 1;
  }
  PANTOUM_ASSIGN(y, node.op(kind, {y}, {{axis}, {}}));
  PANTOUM_ASSIGN(y, node.reshape(y, shape));
  node.set(0, y);
  return {};
}

Result<void> lower_softmax(Node& node) {
  return rows(node, Kind::k_softmax);
}
Result<void> lower_log_softmax(Node& node) {
  return rows(node, Kind::k_log_softmax);
}

// What it keeps of ones: the stream is the same, so the mask is.
Result<void> set_mask(Node& node, double ratio) {
  const ir::TensorType image{ir::DType::kF32, node.shape(0)};
  const ValueId one = node.builder().constant_f32(node.label() + ".one", {}, {1.0F});
  const ValueId zero = node.builder().constant_f32(node.label() + ".zero", {}, {0.0F});
  PANTOUM_ASSIGN(ValueId kept, node.op(Kind::k_expand, {one}, {{}, {1.0}}, {image}));
  if (ratio > 0) {
    PANTOUM_ASSIGN(kept, node.op(Kind::k_dropout, {kept}, {{node.position()}, {ratio}}));
  }
  PANTOUM_ASSIGN(const ValueId mask, node.op(Kind::k_compare, {kept, zero}, {{PT_COMPARE_GREATER}, {}}));
  node.set(1, mask);
  return {};
}

// The key of its random stream is the node's position in the file: the same file always draws the same masks.
Result<void> lower_dropout(Node& node) {
  double ratio = node.attributes().real("ratio", 0.5);
  if (node.has(1)) {
    const std::optional<double> scalar = node.scalar(1);
    if (!scalar) return unsupported("its ratio is not constant", "use a fixed ratio");
    ratio = *scalar;
  }
  if (!(ratio >= 0 && ratio < 1)) return fail("E0211", "its ratio is not in [0, 1)");
  if (node.scalar(2).value_or(0) == 0) node.note("exported for inference; trained as dropout");
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  if (node.wants(1)) PANTOUM_TRY(set_mask(node, ratio));
  if (ratio == 0) {
    node.set(0, x);
    return {};
  }
  return unary(node, Kind::k_dropout, {{node.position()}, {ratio}});
}

constexpr std::array kActivationOperators = {
    OperatorEntry{"Relu", lower_unary<Kind::k_relu>, "relu"},
    OperatorEntry{"LeakyRelu", lower_leaky_relu, "leaky_relu"},
    OperatorEntry{"Sigmoid", lower_unary<Kind::k_sigmoid>, "sigmoid"},
    OperatorEntry{"Tanh", lower_unary<Kind::k_tanh>, "tanh"},
    OperatorEntry{"Gelu", lower_gelu, "gelu"},
    OperatorEntry{"Erf", lower_unary<Kind::k_erf>, "erf"},
    OperatorEntry{"Sqrt", lower_unary<Kind::k_sqrt>, "sqrt"},
    OperatorEntry{"Exp", lower_unary<Kind::k_exp>, "exp"},
    OperatorEntry{"Log", lower_unary<Kind::k_log>, "log"},
    OperatorEntry{"Neg", lower_neg, "sub neg", "float32, int64, int32, uint8"},
    OperatorEntry{"Clip", lower_clip, "maximum minimum clip",
                  "float32, int64, int32, uint8; no gradient at constant bounds themselves"},
    OperatorEntry{"Softmax", lower_softmax, "softmax"},
    OperatorEntry{"LogSoftmax", lower_log_softmax, "log_softmax"},
    OperatorEntry{"Dropout", lower_dropout, "expand compare dropout",
                  "trains with the ratio, whatever the model's training_mode"}};

}  // namespace

std::span<const OperatorEntry> activation_operators() {
  return kActivationOperators;
}

}  // namespace pantoum::import
