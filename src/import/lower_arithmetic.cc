// Add, Sub, Mul, Div, Mod, Pow, Reciprocal, Sum and Mean. A constant scalar becomes a scale op, which takes no second
// tensor.
#include <array>
#include <cmath>
#include <optional>

#include "import/integers.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::ValueId;

// The scalar that input `which` is, if it does not widen the other input's shape.
std::optional<double> scalar_operand(Node& node, size_t which) {
  const std::optional<double> scalar = node.scalar(which);
  if (!ir::is_float(node.type(1 - which).dtype)) return std::nullopt;
  if (!scalar || !std::isfinite(*scalar) || node.shape(which).size() > node.shape(1 - which).size())
    return std::nullopt;
  return scalar;
}

Result<void> check_operands(Node& node) {
  if (node.has(0) && node.has(1)) return {};
  return fail("E0211", "it does not have two inputs");
}

Result<void> binary(Node& node, Kind kind) {
  const bool whole = computes_integers(node);
  PANTOUM_ASSIGN(const ValueId a, whole ? node.value(0) : node.real(0));
  PANTOUM_ASSIGN(const ValueId b, whole ? node.value(1) : node.real(1));
  PANTOUM_ASSIGN(const ValueId y, node.op(kind, {a, b}));
  node.set(0, y);
  return {};
}

// factor * X + offset of the input that is not the scalar.
Result<void> affine(Node& node, size_t input, double factor, double offset) {
  PANTOUM_ASSIGN(const ValueId x, node.real(input));
  PANTOUM_ASSIGN(const ValueId y, node.scale(x, factor, offset));
  node.set(0, y);
  return {};
}

Result<void> lower_add(Node& node) {
  PANTOUM_TRY(check_operands(node));
  if (const auto b = scalar_operand(node, 1)) return affine(node, 0, 1, *b);
  if (const auto a = scalar_operand(node, 0)) return affine(node, 1, 1, *a);
  return binary(node, Kind::k_add);
}

Result<void> lower_sub(Node& node) {
  PANTOUM_TRY(check_operands(node));
  if (const auto b = scalar_operand(node, 1)) return affine(node, 0, 1, -*b);
  if (const auto a = scalar_operand(node, 0)) return affine(node, 1, -1, *a);
  return binary(node, Kind::k_sub);
}

Result<void> lower_mul(Node& node) {
  PANTOUM_TRY(check_operands(node));
  if (const auto b = scalar_operand(node, 1)) return affine(node, 0, *b, 0);
  if (const auto a = scalar_operand(node, 0)) return affine(node, 1, *a, 0);
  return binary(node, Kind::k_mul);
}

Result<void> lower_div(Node& node) {
  PANTOUM_TRY(check_operands(node));
  const auto b = scalar_operand(node, 1);
  if (b && std::isfinite(1 / *b)) return affine(node, 0, 1 / *b, 0);
  return binary(node, Kind::k_div);
}

Result<ValueId> scalar_constant(Node& node, float value) {
  return node.builder().constant_f32(node.label() + ".constant", {}, {value});
}

Result<void> reciprocal(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const ValueId one, scalar_constant(node, 1.0F));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_div, {one, x}));
  node.set(0, y);
  return {};
}

// Integer exponents of floating-point numbers are cast.
Result<void> general_pow(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(ValueId exponent, node.value(1));
  const ir::TensorType type = node.builder().type(exponent);
  if (!ir::is_float(type.dtype)) {
    PANTOUM_ASSIGN(exponent, node.op(Kind::k_cast, {exponent}, {}, {{ir::DType::kF32, type.shape}}));
  }
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_pow, {x, exponent}));
  node.set(0, y);
  return {};
}

// Squares and roots are told from the exponent; the rest is the general power. An integer exponent is read as a real
// one.
Result<void> lower_pow(Node& node) {
  PANTOUM_TRY(check_operands(node));
  if (computes_integers(node)) return lower_integer_pow(node);
  const auto exponent = scalar_operand(node, 1);
  if (!exponent) return general_pow(node);
  if (*exponent == 1) return affine(node, 0, 1, 0);
  if (*exponent == -1) return reciprocal(node);
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  ValueId y = ir::kNone;
  if (*exponent == 2) {
    PANTOUM_ASSIGN(y, node.op(Kind::k_mul, {x, x}));
  } else if (*exponent == 0.5) {
    PANTOUM_ASSIGN(y, node.op(Kind::k_sqrt, {x}));
  } else {
    PANTOUM_ASSIGN(const ValueId b, scalar_constant(node, static_cast<float>(*exponent)));
    PANTOUM_ASSIGN(y, node.op(Kind::k_pow, {x, b}));
  }
  node.set(0, y);
  return {};
}

Result<void> integer_mod(Node& node) {
  PANTOUM_ASSIGN(const ValueId a, node.value(0));
  PANTOUM_ASSIGN(const ValueId b, node.value(1));
  const int64_t sign_of_a = node.attributes().integer("fmod", 0) != 0 ? 1 : 0;
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_mod, {a, b}, {{sign_of_a}, {}}));
  node.set(0, y);
  return {};
}

// a - b * q, where q is the quotient rounded down, or for fmod = 1 towards 0 (down where it is positive, else up).
Result<void> lower_mod(Node& node) {
  PANTOUM_TRY(check_operands(node));
  if (computes_integers(node)) return integer_mod(node);
  PANTOUM_ASSIGN(const ValueId a, node.real(0));
  PANTOUM_ASSIGN(const ValueId b, node.real(1));
  PANTOUM_ASSIGN(ValueId quotient, node.op(Kind::k_div, {a, b}));
  if (node.attributes().integer("fmod", 0) != 0) {
    PANTOUM_ASSIGN(const ValueId sign, node.op(Kind::k_sign, {quotient}));
    PANTOUM_ASSIGN(quotient, node.op(Kind::k_abs, {quotient}));
    PANTOUM_ASSIGN(quotient, node.op(Kind::k_round, {quotient}, {{0}, {}}));
    PANTOUM_ASSIGN(quotient, node.op(Kind::k_mul, {quotient, sign}));
  } else {
    PANTOUM_ASSIGN(quotient, node.op(Kind::k_round, {quotient}, {{0}, {}}));
  }
  PANTOUM_ASSIGN(quotient, node.op(Kind::k_mul, {quotient, b}));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_sub, {a, quotient}));
  node.set(0, y);
  return {};
}

Result<ValueId> sum_of_inputs(Node& node) {
  PANTOUM_ASSIGN(ValueId sum, node.real(0));
  for (size_t input = 1; input < node.input_count(); ++input) {
    PANTOUM_ASSIGN(const ValueId next, node.real(input));
    PANTOUM_ASSIGN(sum, node.op(Kind::k_add, {sum, next}));
  }
  return sum;
}

Result<void> lower_sum(Node& node) {
  PANTOUM_ASSIGN(const ValueId sum, sum_of_inputs(node));
  node.set(0, sum);
  return {};
}

Result<void> lower_mean(Node& node) {
  PANTOUM_ASSIGN(ValueId mean, sum_of_inputs(node));
  PANTOUM_ASSIGN(mean, node.scale(mean, 1 / static_cast<double>(node.input_count())));
  node.set(0, mean);
  return {};
}

constexpr const char* kTypes = "float32; int64, int32 and uint8, which wrap";
constexpr std::array kArithmeticOperators = {
    OperatorEntry{"Add", lower_add, "add scale", kTypes},
    OperatorEntry{"Sub", lower_sub, "sub scale", kTypes},
    OperatorEntry{"Mul", lower_mul, "mul scale", kTypes},
    OperatorEntry{"Div", lower_div, "div scale",
                  "float32; int64, int32 and uint8, which are divided towards zero, and give 0 divided by 0"},
    OperatorEntry{"Mod", lower_mod, "mod div sign abs round mul sub",
                  "float32; int64, int32 and uint8, which give 0 divided by 0"},
    OperatorEntry{
        "Pow", lower_pow, "cast pow mul sqrt div",
        "float32, int64, int32, uint8; the gradient of the exponent needs a positive base; integers wrap, and "
        "to a negative exponent are rounded towards zero"},
    OperatorEntry{"Reciprocal", reciprocal, "div"},
    OperatorEntry{"Sum", lower_sum, "add"},
    OperatorEntry{"Mean", lower_mean, "add scale"}};

}  // namespace

std::span<const OperatorEntry> arithmetic_operators() {
  return kArithmeticOperators;
}

}  // namespace pantoum::import
