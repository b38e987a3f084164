// Functions of mathematics that are made of others, and the matrices that only a shape determines.
#include <array>
#include <cmath>

#include "import/operators.h"
#include "pantoum/ops.h"
#include "pantoum/pantoum.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::ValueId;

Result<void> lower_tan(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const ValueId above, node.op(Kind::k_sin, {x}));
  PANTOUM_ASSIGN(const ValueId below, node.op(Kind::k_cos, {x}));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_div, {above, below}));
  node.set(0, y);
  return {};
}

// (e^x + e^-x) / 2
Result<ValueId> hyperbolic_cosine(Node& node, ValueId x) {
  PANTOUM_ASSIGN(const ValueId rising, node.op(Kind::k_exp, {x}));
  PANTOUM_ASSIGN(const ValueId minus, node.op(Kind::k_neg, {x}));
  PANTOUM_ASSIGN(const ValueId falling, node.op(Kind::k_exp, {minus}));
  PANTOUM_ASSIGN(const ValueId sum, node.op(Kind::k_add, {rising, falling}));
  return node.scale(sum, 0.5);
}

Result<void> lower_cosh(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const ValueId y, hyperbolic_cosine(node, x));
  node.set(0, y);
  return {};
}

// tanh(x) cosh(x), which loses nothing near 0.
Result<void> lower_sinh(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const ValueId tangent, node.op(Kind::k_tanh, {x}));
  PANTOUM_ASSIGN(const ValueId cosine, hyperbolic_cosine(node, x));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_mul, {tangent, cosine}));
  node.set(0, y);
  return {};
}

template <int64_t kFunction>
Result<void> lower_arc(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_arc, {x}, {{kFunction}, {}}));
  node.set(0, y);
  return {};
}

Result<void> lower_is_inf(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  const bool negative = node.attributes().integer("detect_negative", 1) != 0;
  const bool positive = node.attributes().integer("detect_positive", 1) != 0;
  if (negative && positive) {
    PANTOUM_ASSIGN(x, node.op(Kind::k_abs, {x}));
  } else if (!positive) {
    PANTOUM_ASSIGN(x, node.op(Kind::k_neg, {x}));
  }
  // Detecting neither is allowed: nothing equals NaN.
  PANTOUM_ASSIGN(const ValueId bound, node.filled(1, negative || positive ? HUGE_VALF : NAN));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_compare, {x, bound}, {{PT_COMPARE_EQUAL}, {}}));
  node.set(0, y);
  return {};
}

Result<void> lower_eye_like(Node& node) {
  if (!node.has(0)) return fail("E0211", "its input 0 is missing");
  const ir::TensorType like = node.type(0);
  if (like.shape.size() != 2) return fail("E0211", "its input is no matrix");
  const int64_t asked = node.attributes().integer("dtype", 0), above = node.attributes().integer("k", 0);
  const auto dtype = asked > 0 && asked < 64 ? dtype_of(static_cast<int32_t>(asked)) : std::optional(like.dtype);
  if (!dtype) return unsupported("its dtype is " + onnx_type_name(static_cast<int32_t>(asked)));
  PANTOUM_TRY(node.spend(like.elements()));
  std::vector<int64_t> ones(static_cast<size_t>(like.elements()));
  for (int64_t row = 0; row < like.shape[0]; ++row)
    if (above >= -row && above < like.shape[1] - row) ones[static_cast<size_t>(row * like.shape[1] + row + above)] = 1;
  const bool real = ir::is_float(*dtype);
  node.set_known(0, real ? make_tensor(*dtype, like.shape, std::vector<double>(ones.begin(), ones.end()))
                         : make_tensor(*dtype, like.shape, ones));
  return {};
}

constexpr std::array kMathOperators = {
    OperatorEntry{"Tan", lower_tan, "sin cos div"},
    OperatorEntry{"Cosh", lower_cosh, "exp neg add scale"},
    OperatorEntry{"Sinh", lower_sinh, "tanh exp neg add scale mul"},
    OperatorEntry{"Asin", lower_arc<PT_ARC_SIN>, "arc"},
    OperatorEntry{"Acos", lower_arc<PT_ARC_COS>, "arc"},
    OperatorEntry{"Atan", lower_arc<PT_ARC_TAN>, "arc"},
    OperatorEntry{"Asinh", lower_arc<PT_ARC_SINH>, "arc"},
    OperatorEntry{"Acosh", lower_arc<PT_ARC_COSH>, "arc"},
    OperatorEntry{"Atanh", lower_arc<PT_ARC_TANH>, "arc"},
    OperatorEntry{"IsInf", lower_is_inf, "abs neg compare", "its result is bool: no gradient passes"},
    OperatorEntry{"EyeLike", lower_eye_like, "", "folded"}};

}  // namespace

std::span<const OperatorEntry> math_operators() {
  return kMathOperators;
}

}  // namespace pantoum::import
