// Activations that are made of simpler ops, and the one-op rest.
#include <array>
#include <cmath>
#include <numeric>

#include "import/integers.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::ValueId;

constexpr double kLargest = 3.4028234663852886e38;

Result<void> finish(Node& node, Result<ValueId> y) {
  PANTOUM_ASSIGN(const ValueId made, std::move(y));
  node.set(0, made);
  return {};
}

template <Kind kKind>
Result<void> lower_one_op(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  return finish(node, node.op(kKind, {x}));
}

Result<void> lower_abs(Node& node) {
  return computes_integers(node) ? lower_integer_abs(node) : lower_one_op<Kind::k_abs>(node);
}
Result<void> lower_sign(Node& node) {
  return computes_integers(node) ? lower_integer_sign(node) : lower_one_op<Kind::k_sign>(node);
}

template <int64_t kWay>
Result<void> lower_round(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  return finish(node, node.op(Kind::k_round, {x}, {{kWay}, {}}));
}

// Y = X > 0 ? above X : below (e^(inner X) - 1)
Result<void> exponential(Node& node, double above, double below, double inner) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  return finish(node, node.op(Kind::k_elu, {x}, {{}, {above, below, inner}}));
}

Result<void> lower_elu(Node& node) {
  return exponential(node, 1, node.attributes().real("alpha", 1), 1);
}
Result<void> lower_selu(Node& node) {
  const double alpha = node.attributes().real("alpha", 1.67326319217681884765625);
  const double gamma = node.attributes().real("gamma", 1.05070102214813232421875);
  return exponential(node, gamma, gamma * alpha, 1);
}
Result<void> lower_celu(Node& node) {
  const double alpha = node.attributes().real("alpha", 1);
  if (!(alpha > 0)) return fail("E0211", "its alpha is not positive");
  return exponential(node, 1, alpha, 1 / alpha);
}

Result<ValueId> clipped(Node& node, ValueId x, double low, double high) {
  return node.op(Kind::k_clip, {x}, {{}, {low, high}});
}

Result<void> lower_hard_sigmoid(Node& node) {
  const double alpha = node.attributes().real("alpha", 0.2), beta = node.attributes().real("beta", 0.5);
  if (!std::isfinite(alpha) || !std::isfinite(beta)) return fail("E0211", "its alpha or beta is not a finite number");
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  return finish(node, node.op(Kind::k_hard_sigmoid, {x}, {{}, {alpha, beta}}));
}

Result<void> lower_mish(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(ValueId gate, node.op(Kind::k_softplus, {x}));
  PANTOUM_ASSIGN(gate, node.op(Kind::k_tanh, {gate}));
  return finish(node, node.op(Kind::k_mul, {x, gate}));
}

// relu(x) + slope * min(x, 0); the slope broadcasts to x.
Result<void> lower_prelu(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const ValueId slope, node.real(1));
  PANTOUM_ASSIGN(const ValueId above, node.op(Kind::k_relu, {x}));
  PANTOUM_ASSIGN(ValueId below, clipped(node, x, -kLargest, 0));
  PANTOUM_ASSIGN(below, node.op(Kind::k_mul, {below, slope}));
  return finish(node, node.op(Kind::k_add, {above, below}));
}

Result<void> lower_softsign(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(ValueId size, node.op(Kind::k_abs, {x}));
  PANTOUM_ASSIGN(size, node.scale(size, 1, 1));
  return finish(node, node.op(Kind::k_div, {x, size}));
}

Result<void> lower_thresholded_relu(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  const auto alpha = static_cast<float>(node.attributes().real("alpha", 1));
  const ValueId threshold = node.builder().constant_f32(node.label() + ".threshold", {}, {alpha});
  const ValueId zero = node.builder().constant_f32(node.label() + ".zero", {}, {0.0F});
  PANTOUM_ASSIGN(const ValueId above, node.op(Kind::k_compare, {x, threshold}, {{PT_COMPARE_GREATER}, {}}));
  return finish(node, node.op(Kind::k_where, {above, x, zero}));
}

// x + bias below -lambd, x - bias above lambd, 0 between.
Result<void> lower_shrink(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  const double bias = node.attributes().real("bias", 0), lambd = node.attributes().real("lambd", 0.5);
  const auto number = [&](double value) {
    return node.builder().constant_f32(node.label() + ".constant", {}, {static_cast<float>(value)});
  };
  PANTOUM_ASSIGN(const ValueId below, node.op(Kind::k_compare, {x, number(-lambd)}, {{PT_COMPARE_LESS}, {}}));
  PANTOUM_ASSIGN(const ValueId above, node.op(Kind::k_compare, {x, number(lambd)}, {{PT_COMPARE_GREATER}, {}}));
  PANTOUM_ASSIGN(const ValueId risen, node.scale(x, 1, bias));
  PANTOUM_ASSIGN(const ValueId sunk, node.scale(x, 1, -bias));
  PANTOUM_ASSIGN(const ValueId rest, node.op(Kind::k_where, {above, sunk, number(0)}));
  return finish(node, node.op(Kind::k_where, {below, risen, rest}));
}

// 1 at the first maximum, else 0. Before opset 13 all dimensions from the axis on are one.
Result<void> lower_hardmax(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  const ir::Shape shape = node.shape(0);
  const bool older = node.opset() < 13;
  PANTOUM_ASSIGN(int64_t axis, normalize_axis(node.attributes().integer("axis", older ? 1 : -1), shape.size()));
  ir::Shape rows = shape;
  if (older) {
    rows = {1, 1};
    for (size_t d = 0; d < shape.size(); ++d) rows[static_cast<int64_t>(d) < axis ? 0 : 1] *= shape[d];
    axis = 1;
  }
  PANTOUM_ASSIGN(x, node.reshape(x, rows));
  PANTOUM_ASSIGN(ValueId first, node.op(Kind::k_arg_max, {x}, {{axis}, {}}));
  ir::Shape apart = rows, along(rows.size(), 1);
  apart[static_cast<size_t>(axis)] = 1;
  const int64_t extent = along[static_cast<size_t>(axis)] = rows[static_cast<size_t>(axis)];
  PANTOUM_ASSIGN(first, node.reshape(first, apart));
  PANTOUM_TRY(node.spend(extent));
  std::vector<int64_t> positions(static_cast<size_t>(extent));
  std::iota(positions.begin(), positions.end(), 0);
  const ValueId all = whole_constant(node, ir::DType::kI64, along, positions);
  PANTOUM_ASSIGN(x, node.op(Kind::k_compare, {first, all}, {{PT_COMPARE_EQUAL}, {}}));
  PANTOUM_ASSIGN(x, node.op(Kind::k_cast, {x}, {}, {{ir::DType::kF32, rows}}));
  return finish(node, node.reshape(x, shape));
}

constexpr std::array kComposedActivationOperators = {
    OperatorEntry{"Abs", lower_abs, "sub maximum abs", "float32, int64, int32, uint8"},
    OperatorEntry{"Sign", lower_sign, "maximum minimum sign", "float32, int64, int32, uint8; its gradient is 0"},
    OperatorEntry{"Sin", lower_one_op<Kind::k_sin>, "sin"},
    OperatorEntry{"Cos", lower_one_op<Kind::k_cos>, "cos"},
    OperatorEntry{"Floor", lower_round<0>, "round", "its gradient is 0"},
    OperatorEntry{"Ceil", lower_round<1>, "round", "its gradient is 0"},
    OperatorEntry{"Round", lower_round<2>, "round", "its gradient is 0"},
    OperatorEntry{"Softplus", lower_one_op<Kind::k_softplus>, "softplus"},
    OperatorEntry{"Elu", lower_elu, "elu"},
    OperatorEntry{"Selu", lower_selu, "elu"},
    OperatorEntry{"Celu", lower_celu, "elu"},
    OperatorEntry{"HardSigmoid", lower_hard_sigmoid, "hard_sigmoid"},
    OperatorEntry{"HardSwish", lower_one_op<Kind::k_hard_swish>, "hard_swish"},
    OperatorEntry{"Mish", lower_mish, "softplus tanh mul"},
    OperatorEntry{"PRelu", lower_prelu, "relu clip mul add"},
    OperatorEntry{"Softsign", lower_softsign, "abs scale div"},
    OperatorEntry{"ThresholdedRelu", lower_thresholded_relu, "compare where"},
    OperatorEntry{"Shrink", lower_shrink, "compare scale where"},
    OperatorEntry{"Hardmax", lower_hardmax, "cast arg_max compare", "no gradient passes"}};

}  // namespace

std::span<const OperatorEntry> composed_activation_operators() {
  return kComposedActivationOperators;
}

}  // namespace pantoum::import
