// Functions of one tensor, element by element.
#include <array>
#include <cmath>
#include <numbers>

#include "aten/arithmetic.h"
#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::ValueId;

// Of integers too.
Result<void> lower_neg(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  const DType dtype = node.type_of(x).dtype;
  if (ir::is_float(dtype)) return node.set(node.op(Kind::k_neg, {x}));
  return node.set(node.op(Kind::k_sub, {node.whole_constant(dtype, {}, {0}), x}));
}

Result<void> lower_abs(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  const DType dtype = node.type_of(x).dtype;
  if (ir::is_float(dtype)) return node.set(node.op(Kind::k_abs, {x}));
  if (dtype == DType::kU8) return node.set(0, x);
  PANTOUM_ASSIGN(const ValueId negative, node.op(Kind::k_sub, {node.whole_constant(dtype, {}, {0}), x}));
  return node.set(node.op(Kind::k_maximum, {x, negative}));
}

Result<void> lower_sign(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  const DType dtype = node.type_of(x).dtype;
  if (ir::is_float(dtype)) return node.set(node.op(Kind::k_sign, {x}));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_minimum, {x, node.whole_constant(dtype, {}, {1})}));
  return node.set(node.op(Kind::k_maximum, {y, node.whole_constant(dtype, {}, {dtype == DType::kU8 ? 0 : -1})}));
}

// Integers stay as they are.
template <int64_t kMode>
Result<void> lower_round(Node& node) {
  if (node.has({1, "decimals"})) return unsupported("it rounds to decimals", "multiply, round, and divide");
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  if (!ir::is_float(node.type_of(x).dtype)) return node.set(0, x);
  return node.set(node.op(Kind::k_round, {x}, {{kMode}, {}}));
}

Result<void> lower_trunc(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  if (!ir::is_float(node.type_of(x).dtype)) return node.set(0, x);
  return node.set(truncated(node, x));
}

Result<void> lower_frac(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(ValueId whole, truncated(node, x));
  PANTOUM_ASSIGN(whole, detached(node, whole));
  return node.set(node.op(Kind::k_sub, {x, whole}));
}

Result<void> lower_reciprocal(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, DType::kF32));
  return node.set(node.op(Kind::k_div, {node.constant(DType::kF32, {}, {1}), x}));
}

Result<void> lower_rsqrt(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.as(kSelf, DType::kF32));
  PANTOUM_ASSIGN(x, node.op(Kind::k_sqrt, {x}));
  return node.set(node.op(Kind::k_div, {node.constant(DType::kF32, {}, {1}), x}));
}

Result<void> lower_square(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  return node.set(node.op(Kind::k_mul, {x, x}));
}

// f(a x + b), scaled by c and moved by d.
struct Around {
  double a = 1, b = 0, c = 1, d = 0;
};
Result<void> around(Node& node, Kind kind, Around with) {
  PANTOUM_ASSIGN(ValueId x, node.as(kSelf, DType::kF32));
  PANTOUM_ASSIGN(x, node.scale(x, with.a, with.b));
  PANTOUM_ASSIGN(x, node.op(kind, {x}));
  return node.set(node.scale(x, with.c, with.d));
}

Result<void> lower_log2(Node& node) {
  return around(node, Kind::k_log, {.c = 1 / std::numbers::ln2});
}
Result<void> lower_log10(Node& node) {
  return around(node, Kind::k_log, {.c = 1 / std::numbers::ln10});
}
Result<void> lower_log1p(Node& node) {
  return around(node, Kind::k_log, {.b = 1});
}
Result<void> lower_exp2(Node& node) {
  return around(node, Kind::k_exp, {.a = std::numbers::ln2});
}
Result<void> lower_expm1(Node& node) {
  return around(node, Kind::k_exp, {.d = -1});
}

Result<void> lower_erfc(Node& node) {
  return around(node, Kind::k_erf, {.c = -1, .d = 1});
}

Result<void> lower_tan(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, DType::kF32));
  PANTOUM_ASSIGN(const ValueId sine, node.op(Kind::k_sin, {x}));
  PANTOUM_ASSIGN(const ValueId cosine, node.op(Kind::k_cos, {x}));
  return node.set(node.op(Kind::k_div, {sine, cosine}));
}

// (e^x +- e^-x) / 2
template <Kind kKind>
Result<void> lower_hyperbolic(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, DType::kF32));
  PANTOUM_ASSIGN(const ValueId up, node.op(Kind::k_exp, {x}));
  PANTOUM_ASSIGN(const ValueId negative, node.op(Kind::k_neg, {x}));
  PANTOUM_ASSIGN(const ValueId down, node.op(Kind::k_exp, {negative}));
  PANTOUM_ASSIGN(const ValueId y, node.op(kKind, {up, down}));
  return node.set(node.scale(y, 0.5));
}

template <int64_t kArc>
Result<void> lower_arc(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, DType::kF32));
  return node.set(node.op(Kind::k_arc, {x}, {{kArc}, {}}));
}

// The angle of (x, y): 2 atan(y / (sqrt(x^2 + y^2) + x)); where x < 0, 2 atan((sqrt(x^2 + y^2) - x) / y), which loses no digits.
Result<void> lower_atan2(Node& node) {
  PANTOUM_ASSIGN(const ValueId y, node.as(kSelf, DType::kF32));
  PANTOUM_ASSIGN(const ValueId x, node.as({1, "other"}, DType::kF32));
  PANTOUM_ASSIGN(const ValueId xx, node.op(Kind::k_mul, {x, x}));
  PANTOUM_ASSIGN(const ValueId yy, node.op(Kind::k_mul, {y, y}));
  PANTOUM_ASSIGN(ValueId r, node.op(Kind::k_add, {xx, yy}));
  PANTOUM_ASSIGN(r, node.op(Kind::k_sqrt, {r}));
  const ValueId zero = node.constant(DType::kF32, {}, {0});
  PANTOUM_ASSIGN(const ValueId left, node.op(Kind::k_compare, {x, zero}, {{PT_COMPARE_LESS}, {}}));
  PANTOUM_ASSIGN(const ValueId sum, node.op(Kind::k_add, {r, x}));
  PANTOUM_ASSIGN(const ValueId difference, node.op(Kind::k_sub, {r, x}));
  PANTOUM_ASSIGN(const ValueId above, chosen(node, left, difference, y));
  PANTOUM_ASSIGN(const ValueId below, chosen(node, left, y, sum));
  PANTOUM_ASSIGN(ValueId angle, node.op(Kind::k_div, {above, below}));
  PANTOUM_ASSIGN(angle, node.op(Kind::k_arc, {angle}, {{PT_ARC_TAN}, {}}));
  return node.set(node.scale(angle, 2));
}

// Of the hypotenuse; 0 has slope 0.
Result<void> lower_hypot(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, DType::kF32));
  PANTOUM_ASSIGN(const ValueId y, node.as(kOther, DType::kF32));
  PANTOUM_ASSIGN(const ValueId xx, node.op(Kind::k_mul, {x, x}));
  PANTOUM_ASSIGN(const ValueId yy, node.op(Kind::k_mul, {y, y}));
  PANTOUM_ASSIGN(const ValueId sum, node.op(Kind::k_add, {xx, yy}));
  return node.set(root_of_squares(node, sum));
}

// |x| with the sign of the other; of -0 too that is +.
Result<void> lower_copysign(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, DType::kF32));
  PANTOUM_ASSIGN(const ValueId other, node.as(kOther, DType::kF32));
  PANTOUM_ASSIGN(const ValueId size, node.op(Kind::k_abs, {x}));
  PANTOUM_ASSIGN(const ValueId negative, node.op(Kind::k_neg, {size}));
  PANTOUM_ASSIGN(const ValueId below,
                 node.op(Kind::k_compare, {other, node.constant(DType::kF32, {}, {0})}, {{PT_COMPARE_LESS}, {}}));
  return node.set(chosen(node, below, negative, size));
}

constexpr std::array kUnary = {OperatorEntry{"hypot.default", lower_hypot},
                               OperatorEntry{"copysign.Tensor", lower_copysign},
                               OperatorEntry{"copysign.Scalar", lower_copysign},
                               OperatorEntry{"neg.default", lower_neg},
                               OperatorEntry{"abs.default", lower_abs},
                               OperatorEntry{"sign.default", lower_sign, false},
                               OperatorEntry{"sgn.default", lower_sign, false},
                               OperatorEntry{"floor.default", lower_round<0>, false},
                               OperatorEntry{"ceil.default", lower_round<1>, false},
                               OperatorEntry{"round.default", lower_round<2>, false},
                               OperatorEntry{"round.decimals", lower_round<2>, false},
                               OperatorEntry{"trunc.default", lower_trunc, false},
                               OperatorEntry{"frac.default", lower_frac},
                               OperatorEntry{"reciprocal.default", lower_reciprocal},
                               OperatorEntry{"rsqrt.default", lower_rsqrt},
                               OperatorEntry{"square.default", lower_square},
                               OperatorEntry{"sqrt.default", lower_unary<Kind::k_sqrt>},
                               OperatorEntry{"exp.default", lower_unary<Kind::k_exp>},
                               OperatorEntry{"exp2.default", lower_exp2},
                               OperatorEntry{"expm1.default", lower_expm1},
                               OperatorEntry{"log.default", lower_unary<Kind::k_log>},
                               OperatorEntry{"log2.default", lower_log2},
                               OperatorEntry{"log10.default", lower_log10},
                               OperatorEntry{"log1p.default", lower_log1p},
                               OperatorEntry{"erf.default", lower_unary<Kind::k_erf>},
                               OperatorEntry{"erfc.default", lower_erfc},
                               OperatorEntry{"sin.default", lower_unary<Kind::k_sin>},
                               OperatorEntry{"cos.default", lower_unary<Kind::k_cos>},
                               OperatorEntry{"tan.default", lower_tan},
                               OperatorEntry{"sinh.default", lower_hyperbolic<Kind::k_sub>},
                               OperatorEntry{"cosh.default", lower_hyperbolic<Kind::k_add>},
                               OperatorEntry{"asin.default", lower_arc<PT_ARC_SIN>},
                               OperatorEntry{"acos.default", lower_arc<PT_ARC_COS>},
                               OperatorEntry{"atan.default", lower_arc<PT_ARC_TAN>},
                               OperatorEntry{"asinh.default", lower_arc<PT_ARC_SINH>},
                               OperatorEntry{"acosh.default", lower_arc<PT_ARC_COSH>},
                               OperatorEntry{"atanh.default", lower_arc<PT_ARC_TANH>},
                               OperatorEntry{"atan2.default", lower_atan2}};

}  // namespace

std::span<const OperatorEntry> unary_operators() {
  return kUnary;
}

}  // namespace pantoum::aten
