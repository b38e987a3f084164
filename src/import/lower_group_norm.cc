// Normalizations made of others: of instances, of groups, by the response of neighbours, by a norm.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "import/operators.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

int64_t product(const Shape& shape, size_t from) {
  int64_t count = 1;
  for (size_t d = from; d < shape.size(); ++d) count *= shape[d];
  return count;
}

// Every row of `width` elements to mean 0 and variance 1, in X's shape.
Result<ValueId> normalized(Node& node, ValueId x, int64_t width, double epsilon) {
  const Shape shape = node.builder().type(x).shape;
  PANTOUM_ASSIGN(const ValueId rows, node.reshape(x, {product(shape, 0) / width, width}));
  PANTOUM_ASSIGN(const ValueId ones, node.filled(width, 1.0F));
  PANTOUM_ASSIGN(const ValueId zeros, node.filled(width, 0.0F));
  PANTOUM_ASSIGN(const std::vector<ValueId> made, node.add(Kind::k_layer_norm, {rows, ones, zeros}, {{1}, {epsilon}}));
  return node.reshape(made[0], shape);
}

// A constant that changes nothing: every element is `neutral`.
bool is_neutral(const Tensor* tensor, double neutral) {
  return tensor != nullptr && is_filled_with(*tensor, neutral);
}

// The vector of input `which` in `shape`, for broadcasting.
Result<ValueId> vector(Node& node, size_t which, const Shape& shape) {
  PANTOUM_ASSIGN(const ValueId id, node.real(which));
  if (node.type(which).elements() != *count_elements(shape)) {
    return fail("E0211", fmt::format("its input {} has {} elements", which, node.type(which).elements()));
  }
  return node.reshape(id, shape);
}

Result<ValueId> scaled(Node& node, ValueId y, const Shape& shape) {
  if (!is_neutral(node.setting(1), 1)) {
    PANTOUM_ASSIGN(const ValueId scale, vector(node, 1, shape));
    PANTOUM_ASSIGN(y, node.op(Kind::k_mul, {y, scale}));
  }
  if (!is_neutral(node.setting(2), 0)) {
    PANTOUM_ASSIGN(const ValueId bias, vector(node, 2, shape));
    PANTOUM_ASSIGN(y, node.op(Kind::k_add, {y, bias}));
  }
  return y;
}

// [C,1,..]: one element per channel.
Shape per_channel(const Shape& shape) {
  Shape channels(shape.size() - 1, 1);
  channels[0] = shape[1];
  return channels;
}

Result<void> check_affine(Node& node) {
  if (!node.has(1) || !node.has(2)) return fail("E0211", "its scale or bias is missing");
  if (node.shape(0).size() >= 2) return {};
  return fail("E0211", "its input has fewer than two dimensions");
}

Result<void> lower_instance_norm(Node& node) {
  PANTOUM_ASSIGN(ValueId y, node.real(0));
  PANTOUM_TRY(check_affine(node));
  const Shape shape = node.shape(0);
  PANTOUM_ASSIGN(y, normalized(node, y, product(shape, 2), node.attributes().real("epsilon", 1e-5)));
  PANTOUM_ASSIGN(y, scaled(node, y, per_channel(shape)));
  node.set(0, y);
  return {};
}

// Until opset 20 scale and bias are those of the groups, then of the channels.
Result<void> lower_group_norm(Node& node) {
  PANTOUM_ASSIGN(ValueId y, node.real(0));
  PANTOUM_TRY(check_affine(node));
  const Shape shape = node.shape(0);
  const int64_t groups = node.attributes().integer("num_groups", 0);
  if (groups < 1 || shape[1] % groups != 0) return fail("E0211", "its groups do not divide the channels");
  PANTOUM_ASSIGN(y, normalized(node, y, product(shape, 1) / groups, node.attributes().real("epsilon", 1e-5)));
  if (node.opset() >= 21) {
    PANTOUM_ASSIGN(y, scaled(node, y, per_channel(shape)));
  } else {
    PANTOUM_ASSIGN(y, node.reshape(y, {shape[0], groups, product(shape, 1) / groups}));
    PANTOUM_ASSIGN(y, scaled(node, y, {groups, 1}));
    PANTOUM_ASSIGN(y, node.reshape(y, shape));
  }
  node.set(0, y);
  return {};
}

// The squares of neighbouring channels, summed by an average pooling over [N,1,C,..].
Result<ValueId> neighbours(Node& node, ValueId x, int64_t size) {
  const Shape shape = node.shape(0);
  PANTOUM_ASSIGN(ValueId squares, node.op(Kind::k_mul, {x, x}));
  PANTOUM_ASSIGN(squares, node.reshape(squares, {shape[0], 1, shape[1], product(shape, 2)}));
  const int64_t before = (size - 1) / 2;
  const ir::Attrs window{{size, 1, 1, 1, before, 0, size - 1 - before, 0, 1, 1, 1}, {}};
  PANTOUM_ASSIGN(squares, node.op(Kind::k_avg_pool, {squares}, window));
  return node.reshape(squares, shape);
}

// X / (bias + alpha / size * sum of squares)^beta
Result<void> lower_lrn(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  Attributes& attributes = node.attributes();
  const int64_t size = attributes.integer("size", 0);
  if (node.shape(0).size() < 2 || size < 1 || size > INT32_MAX) return fail("E0211", "its size is out of range");
  PANTOUM_ASSIGN(ValueId y, neighbours(node, x, size));
  PANTOUM_ASSIGN(y, node.scale(y, attributes.real("alpha", 1e-4), attributes.real("bias", 1)));
  const auto power = static_cast<float>(-attributes.real("beta", 0.75));
  const ValueId exponent = node.builder().constant_f32(node.label() + ".exponent", {}, {power});
  PANTOUM_ASSIGN(y, node.op(Kind::k_pow, {y, exponent}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_mul, {x, y}));
  node.set(0, y);
  return {};
}

Result<void> lower_lp_norm(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  Shape shape = node.shape(0);
  const int64_t p = node.attributes().integer("p", 2);
  if (p != 1 && p != 2) return fail("E0211", "its p is neither 1 nor 2");
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", -1), shape.size()));
  PANTOUM_ASSIGN(ValueId norm, p == 1 ? node.op(Kind::k_abs, {x}) : node.op(Kind::k_mul, {x, x}));
  PANTOUM_ASSIGN(norm, node.op(Kind::k_reduce_sum, {norm}, {{int64_t{1} << axis}, {}}));
  if (p == 2) {
    PANTOUM_ASSIGN(norm, node.op(Kind::k_sqrt, {norm}));
  }
  shape[static_cast<size_t>(axis)] = 1;
  PANTOUM_ASSIGN(norm, node.reshape(norm, shape));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_div, {x, norm}));
  node.set(0, y);
  return {};
}

// Over the samples and the dimensions of space, unless axes say otherwise; 1e-9 is added to the deviation.
Result<void> lower_mean_variance(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  Shape kept = node.shape(0);
  std::vector<int64_t> axes = {0, 2, 3};
  PANTOUM_ASSIGN(axes, normalize_axes(node.attributes().integers("axes").value_or(axes), kept.size()));
  int64_t mask = 0;
  for (const int64_t axis : axes) {
    mask |= int64_t{1} << axis;
    kept[static_cast<size_t>(axis)] = 1;
  }
  PANTOUM_ASSIGN(ValueId mean, node.op(Kind::k_reduce_mean, {x}, {{mask}, {}}));
  PANTOUM_ASSIGN(mean, node.reshape(mean, kept));
  PANTOUM_ASSIGN(const ValueId centered, node.op(Kind::k_sub, {x, mean}));
  PANTOUM_ASSIGN(ValueId deviation, node.op(Kind::k_mul, {centered, centered}));
  PANTOUM_ASSIGN(deviation, node.op(Kind::k_reduce_mean, {deviation}, {{mask}, {}}));
  PANTOUM_ASSIGN(deviation, node.op(Kind::k_sqrt, {deviation}));
  PANTOUM_ASSIGN(deviation, node.scale(deviation, 1, 1e-9));
  PANTOUM_ASSIGN(deviation, node.reshape(deviation, kept));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_div, {centered, deviation}));
  node.set(0, y);
  return {};
}

constexpr std::array kGroupNormOperators = {
    OperatorEntry{"InstanceNormalization", lower_instance_norm, "layer_norm mul add"},
    OperatorEntry{"GroupNormalization", lower_group_norm, "layer_norm mul add"},
    OperatorEntry{"LRN", lower_lrn, "mul avg_pool scale pow"},
    OperatorEntry{"LpNormalization", lower_lp_norm, "abs mul reduce_sum sqrt div", "a row of zeros gives NaN"},
    OperatorEntry{"MeanVarianceNormalization", lower_mean_variance, "reduce_mean sub mul sqrt scale div"}};

}  // namespace

std::span<const OperatorEntry> group_norm_operators() {
  return kGroupNormOperators;
}

}  // namespace pantoum::import
