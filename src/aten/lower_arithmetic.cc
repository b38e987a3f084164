// Sums, products, quotients and powers, element by element.
#include <array>
#include <cmath>

#include "aten/arithmetic.h"
#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::ValueId;

constexpr Slot kExponent = {1, "exponent"};

// self + factor * other, in the captured type.
Result<void> add_scaled(Node& node, double factor) {
  const DType dtype = node.output().dtype;
  if (dtype == DType::kBool) return unsupported("it adds bools", "use | or logical_or");
  PANTOUM_ASSIGN(const ValueId a, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const std::optional<double> number, node.number(kOther));
  if (ir::is_float(dtype) && number) return node.set(node.scale(a, 1, factor * *number));
  PANTOUM_ASSIGN(ValueId b, node.as(kOther, dtype));
  if (factor == -1) return node.set(node.op(Kind::k_sub, {a, b}));
  if (factor != 1 && ir::is_float(dtype)) {
    PANTOUM_ASSIGN(b, node.scale(b, factor));
  } else if (factor != 1) {
    PANTOUM_ASSIGN(b, node.op(Kind::k_mul, {b, node.constant(dtype, {}, {factor})}));
  }
  return node.set(node.op(Kind::k_add, {a, b}));
}

Result<void> lower_add(Node& node) {
  PANTOUM_ASSIGN(const double alpha, node.number({2, "alpha"}, 1));
  return add_scaled(node, alpha);
}

Result<void> lower_sub(Node& node) {
  PANTOUM_ASSIGN(const double alpha, node.number({2, "alpha"}, 1));
  return add_scaled(node, -alpha);
}

// other - alpha * self
Result<void> lower_rsub(Node& node) {
  const DType dtype = node.output().dtype;
  PANTOUM_ASSIGN(const double alpha, node.number({2, "alpha"}, 1));
  PANTOUM_ASSIGN(ValueId a, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const std::optional<double> number, node.number(kOther));
  if (ir::is_float(dtype) && number) return node.set(node.scale(a, -alpha, *number));
  PANTOUM_ASSIGN(const ValueId b, node.as(kOther, dtype));
  if (alpha != 1 && ir::is_float(dtype)) {
    PANTOUM_ASSIGN(a, node.scale(a, alpha));
  } else if (alpha != 1) {
    PANTOUM_ASSIGN(a, node.op(Kind::k_mul, {a, node.constant(dtype, {}, {alpha})}));
  }
  return node.set(node.op(Kind::k_sub, {b, a}));
}

Result<void> lower_mul(Node& node) {
  const DType dtype = node.output().dtype;
  if (dtype == DType::kBool) {
    PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, dtype));
    PANTOUM_ASSIGN(const ValueId y, node.as(kOther, dtype));
    return node.set(node.op(Kind::k_compare, {x, y}, {{PT_COMPARE_AND}, {}}));
  }
  PANTOUM_ASSIGN(const ValueId a, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const std::optional<double> number, node.number(kOther));
  if (ir::is_float(dtype) && number) return node.set(node.scale(a, *number));
  PANTOUM_ASSIGN(const ValueId b, node.as(kOther, dtype));
  return node.set(node.op(Kind::k_mul, {a, b}));
}

Result<ValueId> quotient(Node& node, DType dtype) {
  PANTOUM_ASSIGN(const ValueId a, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const std::optional<double> number, node.number(kOther));
  // Where the inverse is exact, a product is.
  if (ir::is_float(dtype) && number && *number != 0 &&
      std::abs(std::frexp(*number, std::array<int, 1>{}.data())) == 0.5)
    return node.scale(a, 1 / *number);
  PANTOUM_ASSIGN(const ValueId b, node.as(kOther, dtype));
  return node.op(Kind::k_div, {a, b});
}

Result<void> lower_div(Node& node) {
  return node.set(quotient(node, node.output().dtype));
}

Result<void> lower_rounded_div(Node& node, const std::string& mode) {
  const DType dtype = node.output().dtype;
  PANTOUM_ASSIGN(const ValueId a, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const ValueId b, node.as(kOther, dtype));
  if (mode == "floor") return node.set(floor_division(node, a, b));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_div, {a, b}));
  if (ir::is_float(dtype)) {
    PANTOUM_ASSIGN(y, truncated(node, y));
  }
  return node.set(0, y);
}

Result<void> lower_div_mode(Node& node) {
  PANTOUM_ASSIGN(const std::string mode, node.text({2, "rounding_mode"}, ""));
  return mode.empty() ? lower_div(node) : lower_rounded_div(node, mode);
}

Result<void> lower_floor_divide(Node& node) {
  return lower_rounded_div(node, "floor");
}

// The rest has the sign of the divisor (remainder) or of the dividend (fmod): a - b * round(a / b).
template <bool kFloor>
Result<void> lower_rest(Node& node) {
  const DType dtype = node.output().dtype;
  PANTOUM_ASSIGN(const ValueId a, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const ValueId b, node.as(kOther, dtype));
  if (!ir::is_float(dtype)) return node.set(node.op(Kind::k_mod, {a, b}, {{kFloor ? 0 : 1}, {}}));
  PANTOUM_ASSIGN(ValueId times, node.op(Kind::k_div, {a, b}));
  PANTOUM_ASSIGN(times, kFloor ? node.op(Kind::k_round, {times}, {{0}, {}}) : truncated(node, times));
  PANTOUM_ASSIGN(times, detached(node, times));
  PANTOUM_ASSIGN(const ValueId part, node.op(Kind::k_mul, {times, b}));
  return node.set(node.op(Kind::k_sub, {a, part}));
}

Result<ValueId> power(Node& node, ValueId x, double exponent) {
  if (exponent == 1) return x;
  if (exponent == 2) return node.op(Kind::k_mul, {x, x});
  if (exponent == 3) {
    PANTOUM_ASSIGN(const ValueId square, node.op(Kind::k_mul, {x, x}));
    return node.op(Kind::k_mul, {square, x});
  }
  if (exponent == 0.5) return node.op(Kind::k_sqrt, {x});
  return node.op(Kind::k_pow, {x, node.constant(DType::kF32, {}, {exponent})});
}

Result<ValueId> whole_power(Node& node, ValueId x, double exponent) {
  if (!(exponent >= 1 && exponent <= 63) || exponent != std::floor(exponent))
    return unsupported("an integer to this power", "convert it by .float()");
  ValueId y = x;
  for (int times = 1; times < static_cast<int>(exponent); ++times) {
    PANTOUM_ASSIGN(y, node.op(Kind::k_mul, {y, x}));
  }
  return y;
}

Result<void> lower_pow_scalar(Node& node) {
  const DType dtype = node.output().dtype;
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const double exponent, node.number(kExponent, 1));
  if (!ir::is_float(dtype)) return node.set(whole_power(node, x, exponent));
  if (exponent == 0) return node.set(node.expand(node.constant(dtype, {}, {1}), node.shape_of(x)));
  return node.set(power(node, x, exponent));
}

// base^x = e^(x ln base)
Result<void> lower_pow_of_number(Node& node) {
  PANTOUM_ASSIGN(const double base, node.number(kSelf, 1));
  PANTOUM_ASSIGN(const ValueId x, node.as(kExponent, DType::kF32));
  if (!(base > 0)) return unsupported("a number of 0 or less to the power of a tensor", "use a base above 0");
  PANTOUM_ASSIGN(const ValueId scaled, node.scale(x, std::log(base)));
  return node.set(node.op(Kind::k_exp, {scaled}));
}

Result<void> lower_pow(Node& node) {
  PANTOUM_ASSIGN(const ValueId a, node.as(kSelf, DType::kF32));
  PANTOUM_ASSIGN(const ValueId b, node.as(kExponent, DType::kF32));
  return node.set(node.op(Kind::k_pow, {a, b}));
}

// self + value * t1 * t2, or t1 / t2
template <Kind kKind>
Result<void> lower_addc(Node& node) {
  const DType dtype = node.output().dtype;
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const ValueId a, node.as({1, "tensor1"}, dtype));
  PANTOUM_ASSIGN(const ValueId b, node.as({2, "tensor2"}, dtype));
  PANTOUM_ASSIGN(const double value, node.number({3, "value"}, 1));
  PANTOUM_ASSIGN(ValueId y, node.op(kKind, {a, b}));
  PANTOUM_ASSIGN(y, node.scale(y, value));
  return node.set(node.op(Kind::k_add, {x, y}));
}

// a + (b - a) * weight
Result<void> lower_lerp(Node& node) {
  PANTOUM_ASSIGN(const ValueId a, node.real(kSelf));
  PANTOUM_ASSIGN(const ValueId b, node.real({1, "end"}));
  PANTOUM_ASSIGN(const ValueId weight, node.as({2, "weight"}, DType::kF32));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_sub, {b, a}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_mul, {y, weight}));
  return node.set(node.op(Kind::k_add, {a, y}));
}

template <Kind kKind>
Result<void> lower_extreme(Node& node) {
  const DType dtype = node.output().dtype;
  PANTOUM_ASSIGN(const ValueId a, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const ValueId b, node.as(kOther, dtype));
  return node.set(node.op(kKind, {a, b}));
}

constexpr std::array kArithmetic = {OperatorEntry{"add.Tensor", lower_add},
                                    OperatorEntry{"add.Scalar", lower_add},
                                    OperatorEntry{"sub.Tensor", lower_sub},
                                    OperatorEntry{"sub.Scalar", lower_sub},
                                    OperatorEntry{"rsub.Tensor", lower_rsub},
                                    OperatorEntry{"rsub.Scalar", lower_rsub},
                                    OperatorEntry{"mul.Tensor", lower_mul},
                                    OperatorEntry{"mul.Scalar", lower_mul},
                                    OperatorEntry{"div.Tensor", lower_div},
                                    OperatorEntry{"div.Scalar", lower_div},
                                    OperatorEntry{"div.Tensor_mode", lower_div_mode},
                                    OperatorEntry{"div.Scalar_mode", lower_div_mode},
                                    OperatorEntry{"floor_divide.default", lower_floor_divide},
                                    OperatorEntry{"remainder.Tensor", lower_rest<true>},
                                    OperatorEntry{"remainder.Scalar", lower_rest<true>},
                                    OperatorEntry{"fmod.Tensor", lower_rest<false>},
                                    OperatorEntry{"fmod.Scalar", lower_rest<false>},
                                    OperatorEntry{"pow.Tensor_Scalar", lower_pow_scalar},
                                    OperatorEntry{"pow.Scalar", lower_pow_of_number},
                                    OperatorEntry{"pow.Tensor_Tensor", lower_pow},
                                    OperatorEntry{"addcmul.default", lower_addc<Kind::k_mul>},
                                    OperatorEntry{"addcdiv.default", lower_addc<Kind::k_div>},
                                    OperatorEntry{"lerp.Scalar", lower_lerp},
                                    OperatorEntry{"lerp.Tensor", lower_lerp},
                                    OperatorEntry{"maximum.default", lower_extreme<Kind::k_maximum>},
                                    OperatorEntry{"minimum.default", lower_extreme<Kind::k_minimum>}};

}  // namespace

Result<DType> common_type(Node& node, Slot a, Slot b) {
  DType widest = DType::kBool;
  const auto order = [](DType dtype) {
    switch (dtype) {
      case DType::kBool:
        return 0;
      case DType::kU8:
        return 1;
      case DType::kI32:
        return 2;
      case DType::kI64:
        return 3;
      default:
        return 4;
    }
  };
  for (const Slot slot : {a, b}) {
    if (!node.is_tensor(slot)) continue;
    PANTOUM_ASSIGN(const ir::TensorType type, node.type(slot));
    if (order(type.dtype) > order(widest)) widest = type.dtype;
  }
  for (const Slot slot : {a, b}) {
    const Arg* arg = node.arg(slot);
    if (arg == nullptr) continue;
    if (arg->as<double>() != nullptr) widest = DType::kF32;
    if (arg->as<int64_t>() != nullptr && widest == DType::kBool) widest = DType::kI64;
  }
  return widest;
}

Result<ValueId> floor_division(Node& node, ValueId a, ValueId b) {
  if (ir::is_float(node.type_of(a).dtype)) {
    PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_div, {a, b}));
    return node.op(Kind::k_round, {y}, {{0}, {}});
  }
  PANTOUM_ASSIGN(const ValueId rest, node.op(Kind::k_mod, {a, b}, {{0}, {}}));
  PANTOUM_ASSIGN(const ValueId whole, node.op(Kind::k_sub, {a, rest}));
  return node.op(Kind::k_div, {whole, b});
}

Result<ValueId> truncated(Node& node, ValueId x) {
  PANTOUM_ASSIGN(const ValueId down, node.op(Kind::k_round, {x}, {{0}, {}}));
  PANTOUM_ASSIGN(const ValueId up, node.op(Kind::k_round, {x}, {{1}, {}}));
  const ValueId zero = node.constant(node.type_of(x).dtype, {}, {0});
  PANTOUM_ASSIGN(const ValueId below, node.op(Kind::k_compare, {x, zero}, {{PT_COMPARE_LESS}, {}}));
  return chosen(node, below, up, down);
}

Result<ValueId> inverted(Node& node, ValueId x) {
  return node.op(Kind::k_compare, {x, node.whole_constant(DType::kBool, {}, {0})}, {{PT_COMPARE_EQUAL}, {}});
}

Result<ValueId> detached(Node& node, ValueId x) {
  return node.op(Kind::k_alias, {x}, {{1}, {}}, {node.type_of(x)});
}

Result<ValueId> chosen(Node& node, ValueId condition, ValueId a, ValueId b) {
  return node.op(Kind::k_where, {condition, a, b});
}

std::span<const OperatorEntry> arithmetic_operators() {
  return kArithmetic;
}

}  // namespace pantoum::aten
