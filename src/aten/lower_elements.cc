// Element by element: arithmetic, functions, activations, comparisons, logic, choices; softmax. No gradient passes through a condition.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "aten/operators.h"

namespace pantoum::aten {

DType common_type(Node& node, Slot a, Slot b) {
  constexpr std::array kOrder = {DType::kBool, DType::kU8, DType::kI32, DType::kI64, DType::kF32};
  const auto order = [&](DType dtype) { return std::ranges::find(kOrder, dtype); };
  DType widest = DType::kBool;
  for (const Slot slot : {a, b}) {
    if (!node.is_tensor(slot)) continue;
    const DType dtype = node.tensor(slot).dtype();
    if (order(dtype) > order(widest)) widest = dtype;
  }
  for (const Slot slot : {a, b}) {
    const Arg* arg = node.arg(slot);
    if (arg == nullptr) continue;
    if (arg->as<double>() != nullptr) widest = DType::kF32;
    if (arg->as<int64_t>() != nullptr && widest == DType::kBool) widest = DType::kI64;
  }
  return widest;
}

namespace {

// Towards minus infinity: floor(a / b), both of one type.
Value floor_division(const Value& a, const Value& b) {
  if (a.is_real()) return rounded(a / b, import::kDown);
  const Value rest = a.in().op(Kind::k_mod, {a, b}, {{0}, {}});
  return (a - rest) / b;
}

// Towards zero.
Value truncated(const Value& x) {
  const Value down = rounded(x, import::kDown), up = rounded(x, import::kUp);
  return where(compare(x, PT_COMPARE_LESS, 0), up, down);
}

constexpr Slot kExponent = {1, "exponent"};

// Both operands, converted to the captured type.
struct Pair {
  Value a, b;
};

Pair read_pair(Node& node) {
  const Value a = node.as_output(kSelf);
  return {a, node.as_output(kOther)};
}

// x + factor * y, in the captured type; y may be a number.
Value plus_scaled(Node& node, Slot x_slot, Slot y_slot, double factor) {
  const DType dtype = node.output().dtype;
  if (dtype == DType::kBool) return node.refuse(unsupported("it adds bools", "use | or logical_or"));
  const Value x = node.as(x_slot, dtype);
  const std::optional<double> number = node.told_number(y_slot);
  if (ir::is_float(dtype) && number) return scale(x, 1, factor * *number);
  const Value y = node.as(y_slot, dtype);
  if (factor == -1) return x - y;
  if (factor == 1) return x + y;
  const Value scaled = ir::is_float(dtype) ? scale(y, factor) : y * node.constant(dtype, {}, {factor});
  return x + scaled;
}

Result<void> lower_add(Node& node) {
  return node.set(plus_scaled(node, kSelf, kOther, node.number({2, "alpha"}, 1)));
}

Result<void> lower_sub(Node& node) {
  return node.set(plus_scaled(node, kSelf, kOther, -node.number({2, "alpha"}, 1)));
}

Result<void> lower_mul(Node& node) {
  const DType dtype = node.output().dtype;
  const Value a = node.as(kSelf, dtype);
  if (dtype == DType::kBool) return node.set(compare(a, PT_COMPARE_AND, node.as(kOther, dtype)));
  const std::optional<double> number = node.told_number(kOther);
  return node.set(ir::is_float(dtype) && number ? scale(a, *number) : a * node.as(kOther, dtype));
}

Result<void> lower_div(Node& node) {
  const Value a = node.as_output(kSelf);
  const std::optional<double> number = node.told_number(kOther);
  // A product by the inverse is exact if the inverse is.
  int exponent = 0;
  if (ir::is_float(node.output().dtype) && number && *number != 0 && std::abs(std::frexp(*number, &exponent)) == 0.5)
    return node.set(scale(a, 1 / *number));
  return node.set(a / node.as_output(kOther));
}

Result<void> lower_div_mode(Node& node) {
  const std::string mode = node.text({2, "rounding_mode"}, "");
  if (mode.empty()) return lower_div(node);
  const Pair pair = read_pair(node);
  if (mode == "floor") return node.set(floor_division(pair.a, pair.b));
  const Value y = pair.a / pair.b;
  return node.set(y.is_real() ? truncated(y) : y);
}

// The rest has the sign of the divisor (remainder) or of the dividend (fmod): a - b * round(a / b).
template <bool kFloor>
Result<void> lower_rest(Node& node) {
  const Pair pair = read_pair(node);
  if (!pair.a.is_real()) return node.set(node.op(Kind::k_mod, {pair.a, pair.b}, {{kFloor ? 0 : 1}, {}}));
  const Value quotient = pair.a / pair.b;
  const Value times = detached(kFloor ? rounded(quotient, import::kDown) : truncated(quotient));
  return node.set(pair.a - times * pair.b);
}

Value real_power(const Value& x, double exponent) {
  if (exponent == 0) return expand(x.in().number(DType::kF32, 1), x.shape());
  if (exponent == 1) return x;
  if (exponent == 2) return x * x;
  if (exponent == 3) return x * x * x;
  return exponent == 0.5 ? sqrt(x) : pow(x, x.in().number(DType::kF32, exponent));
}

Value whole_power(const Value& x, double exponent) {
  if (!(exponent >= 1 && exponent <= 63) || exponent != std::floor(exponent))
    return x.in().refuse(unsupported("an integer to this power", "convert it by .float()"));
  Value y = x;
  for (int times = 1; times < static_cast<int>(exponent); ++times) y = y * x;
  return y;
}

Result<void> lower_pow_scalar(Node& node) {
  const Value x = node.as_output(kSelf);
  const double exponent = node.number(kExponent, 1);
  return node.set(x.is_real() ? real_power(x, exponent) : whole_power(x, exponent));
}

// base^x = e^(x ln base)
Result<void> lower_pow_of_number(Node& node) {
  const double base = node.number(kSelf, 1);
  const Value x = node.as(kExponent, DType::kF32);
  if (!(base > 0)) return unsupported("a number of 0 or less to the power of a tensor", "use a base above 0");
  return node.set(exp(scale(x, std::log(base))));
}

Result<void> lower_pow(Node& node) {
  const Value a = node.as(kSelf, DType::kF32);
  return node.set(pow(a, node.as(kExponent, DType::kF32)));
}

// a + (b - a) * weight
Result<void> lower_lerp(Node& node) {
  const Value a = node.real(kSelf), b = node.real({1, "end"}), weight = node.as({2, "weight"}, DType::kF32);
  return node.set(a + (b - a) * weight);
}

template <Value (*kFunction)(const Value&, const Value&)>
Result<void> lower_both(Node& node) {
  const Pair pair = read_pair(node);
  return node.set(kFunction(pair.a, pair.b));
}

// Functions of one tensor. Of floating point, to which integers are converted; of any type that they have.
template <Value (*kFunction)(const Value&)>
Result<void> lower_real(Node& node) {
  return node.set(kFunction(node.as(kSelf, DType::kF32)));
}
template <Value (*kFunction)(const Value&)>
Result<void> lower_any(Node& node) {
  return node.set(kFunction(node.tensor(kSelf)));
}
template <Kind kKind>
Result<void> lower_op(Node& node) {
  return node.set(apply(kKind, node.as(kSelf, DType::kF32)));
}

Value reciprocal_root(const Value& x) {
  return reciprocal(sqrt(x));
}
Value whole_part(const Value& x) {
  return x.is_real() ? truncated(x) : x;
}
Value fraction(const Value& x) {
  return x - detached(truncated(x));
}
Value silu(const Value& x) {
  return x * sigmoid(x);
}
Value hard_sigmoid(const Value& x) {
  return apply(Kind::k_hard_sigmoid, x, {{}, {1.0 / 6, 0.5}});
}
Value log2(const Value& x) {
  return log(x) * (1 / std::numbers::ln2);
}
Value log10(const Value& x) {
  return log(x) * (1 / std::numbers::ln10);
}
Value exp2(const Value& x) {
  return exp(x * std::numbers::ln2);
}
Value erfc(const Value& x) {
  return scale(apply(Kind::k_erf, x), -1, 1);
}
Value is_infinite(const Value& x) {
  const Value most = x.in().number(DType::kF32, std::numeric_limits<float>::max());
  return compare(abs(x), PT_COMPARE_GREATER, most);
}

template <int64_t kArc>
Result<void> lower_arc(Node& node) {
  return node.set(apply(Kind::k_arc, node.as(kSelf, DType::kF32), {{kArc}, {}}));
}

// Integers stay as they are.
template <import::Rounding kWay>
Result<void> lower_round(Node& node) {
  if (node.has({1, "decimals"})) return unsupported("it rounds to decimals", "multiply, round, and divide");
  const Value x = node.tensor(kSelf);
  return node.set(x.is_real() ? rounded(x, kWay) : x);
}

// The hypotenuse; its slope at 0 is 0, as PyTorch's.
Result<void> lower_hypot(Node& node) {
  const Value x = node.as(kSelf, DType::kF32), y = node.as(kOther, DType::kF32), xx = x * x, sum = xx + y * y;
  const Value zero = node.number(DType::kF32, 0), one = node.number(DType::kF32, 1);
  const Value is_zero = compare(sum, PT_COMPARE_EQUAL, zero);
  return node.set(where(is_zero, zero, sqrt(where(is_zero, one, sum))));
}

// |x| with the sign of the other; of -0 too that is +.
Result<void> lower_copysign(Node& node) {
  const Value x = node.as(kSelf, DType::kF32), other = node.as(kOther, DType::kF32);
  const Value size = abs(x), negated = -size;
  return node.set(where(compare(other, PT_COMPARE_LESS, 0), negated, size));
}

Result<void> lower_gelu(Node& node) {
  const Value x = node.real(kSelf);
  return node.set(apply(Kind::k_gelu, x, {{node.text({1, "approximate"}, "none") == "tanh" ? 1 : 0}, {}}));
}

Result<void> lower_leaky_relu(Node& node) {
  return node.set(apply(Kind::k_leaky_relu, node.real(kSelf), {{}, {node.number({1, "negative_slope"}, 0.01)}}));
}

Result<void> lower_elu(Node& node) {
  const double alpha = node.number({1, "alpha"}, 1), factor = node.number({2, "scale"}, 1);
  const double input_scale = node.number({3, "input_scale"}, 1);
  return node.set(apply(Kind::k_elu, node.real(kSelf), {{}, {factor, alpha * factor, input_scale}}));
}

// Beyond the threshold PyTorch's is x itself, which differs from it by less than float32 holds where the threshold is 20.
Result<void> lower_softplus(Node& node) {
  const Value x = node.real(kSelf);
  const double beta = node.number({1, "beta"}, 1), threshold = node.number({2, "threshold"}, 20);
  const Value scaled = scale(x, beta), y = scale(softplus(scaled), 1 / beta);
  return node.set(threshold >= 20 ? y : where(compare(scaled, PT_COMPARE_GREATER, threshold), x, y));
}

// The gradient is that of x strictly between the bounds.
Result<void> lower_hardtanh(Node& node) {
  return node.set(clip(node.real(kSelf), node.number({1, "min_val"}, -1), node.number({2, "max_val"}, 1)));
}

Result<void> lower_clamp(Node& node) {
  constexpr Slot kLeast = {1, "min"}, kMost = {2, "max"};
  Value y = node.as_output(kSelf);
  if (node.has(kLeast)) y = not_below(y, node.as(kLeast, y.dtype()));
  if (node.has(kMost)) y = not_above(y, node.as(kMost, y.dtype()));
  return node.set(y);
}

Result<void> lower_clamp_max(Node& node) {
  const Value x = node.as_output(kSelf);
  return node.set(not_above(x, node.as({1, "max"}, x.dtype())));
}

template <Value (*kAlong)(const Value&, size_t)>
Result<void> lower_softmax(Node& node) {
  const Value x = node.as(kSelf, DType::kF32);
  const size_t axis = node.dimension(kDim, x.rank(), -1);
  return node.set(x.rank() != 0 ? kAlong(x, axis) : reshape(kAlong(reshape(x, {1}), 0), {}));
}

Value compared(Node& node, int64_t relation) {
  const DType dtype = common_type(node, kSelf, kOther);
  const Value a = node.as(kSelf, dtype);
  return compare(a, relation, node.as(kOther, dtype));
}

template <int64_t kRelation>
Result<void> lower_compare(Node& node) {
  return node.set(compared(node, kRelation));
}

Result<void> lower_not_equal(Node& node) {
  return node.set(inverted(compared(node, PT_COMPARE_EQUAL)));
}

template <int64_t kRelation>
Result<void> lower_logical(Node& node) {
  const Value a = node.as(kSelf, DType::kBool);
  return node.set(compare(a, kRelation, node.as(kOther, DType::kBool)));
}

Result<void> lower_logical_not(Node& node) {
  return node.set(inverted(node.as(kSelf, DType::kBool)));
}

template <int64_t kBits>
Result<void> lower_bitwise(Node& node) {
  const Pair pair = read_pair(node);
  return node.set(bitwise(pair.a, kBits, pair.b));
}

Value bits_or_truth_inverted(const Value& x) {
  return x.dtype() == DType::kBool ? inverted(x) : bits_inverted(x);
}

Result<void> lower_where(Node& node) {
  const Value condition = node.as({0, "condition"}, DType::kBool), a = node.as_output({1, "self"});
  const Value y = where(condition, a, node.as_output({2, "other"}));
  return node.set(expand(y, node.output().shape));
}

constexpr OperatorEntry kElements[] = {{"add.Tensor add.Scalar", lower_add},
                                       {"sub.Tensor sub.Scalar", lower_sub},
                                       {"mul.Tensor mul.Scalar", lower_mul},
                                       {"div.Tensor div.Scalar", lower_div},
                                       {"div.Tensor_mode div.Scalar_mode", lower_div_mode},
                                       {"remainder.Tensor remainder.Scalar", lower_rest<true>},
                                       {"fmod.Tensor fmod.Scalar", lower_rest<false>},
                                       {"pow.Tensor_Scalar", lower_pow_scalar},
                                       {"pow.Scalar", lower_pow_of_number},
                                       {"pow.Tensor_Tensor", lower_pow},
                                       {"lerp.Scalar lerp.Tensor", lower_lerp},
                                       {"maximum.default", lower_both<import::maximum>},
                                       {"minimum.default", lower_both<import::minimum>},
                                       {"hypot.default", lower_hypot},
                                       {"copysign.Tensor copysign.Scalar", lower_copysign},
                                       {"neg.default", lower_any<import::negative>},
                                       {"abs.default", lower_any<import::abs>},
                                       {"sign.default", lower_any<import::sign>, false},
                                       {"floor.default", lower_round<import::kDown>, false},
                                       {"ceil.default", lower_round<import::kUp>, false},
                                       {"round.default round.decimals", lower_round<import::kToEven>, false},
                                       {"trunc.default", lower_any<whole_part>, false},
                                       {"frac.default", lower_real<fraction>},
                                       {"reciprocal.default", lower_real<import::reciprocal>},
                                       {"rsqrt.default", lower_real<reciprocal_root>},
                                       {"sqrt.default", lower_op<Kind::k_sqrt>},
                                       {"exp.default", lower_op<Kind::k_exp>},
                                       {"exp2.default", lower_real<exp2>},
                                       {"log.default", lower_op<Kind::k_log>},
                                       {"log2.default", lower_real<log2>},
                                       {"log10.default", lower_real<log10>},
                                       {"erf.default", lower_op<Kind::k_erf>},
                                       {"erfc.default", lower_real<erfc>},
                                       {"sin.default", lower_op<Kind::k_sin>},
                                       {"cos.default", lower_op<Kind::k_cos>},
                                       {"tan.default", lower_real<import::tan>},
                                       {"cosh.default", lower_real<import::cosh>},
                                       {"asin.default", lower_arc<PT_ARC_SIN>},
                                       {"acos.default", lower_arc<PT_ARC_COS>},
                                       {"atan.default", lower_arc<PT_ARC_TAN>},
                                       {"asinh.default", lower_arc<PT_ARC_SINH>},
                                       {"acosh.default", lower_arc<PT_ARC_COSH>},
                                       {"atanh.default", lower_arc<PT_ARC_TANH>},
                                       {"relu.default", lower_any<import::relu>},
                                       {"sigmoid.default", lower_op<Kind::k_sigmoid>},
                                       {"tanh.default", lower_op<Kind::k_tanh>},
                                       {"gelu.default", lower_gelu},
                                       {"leaky_relu.default", lower_leaky_relu},
                                       {"elu.default", lower_elu},
                                       {"silu.default", lower_real<silu>},
                                       {"mish.default", lower_real<import::mish>},
                                       {"softplus.default", lower_softplus},
                                       {"log_sigmoid.default", lower_real<import::log_sigmoid>},
                                       {"hardsigmoid.default", lower_real<hard_sigmoid>},
                                       {"hardswish.default", lower_op<Kind::k_hard_swish>},
                                       {"hardtanh.default", lower_hardtanh},
                                       {"clamp.default clamp.Tensor clamp_min.default", lower_clamp},
                                       {"clamp_max.default", lower_clamp_max},
                                       {"_softmax.default", lower_softmax<import::softmax>},
                                       {"_log_softmax.default", lower_softmax<import::log_softmax>},
                                       {"eq.Tensor eq.Scalar", lower_compare<PT_COMPARE_EQUAL>, false},
                                       {"ne.Tensor ne.Scalar", lower_not_equal, false},
                                       {"lt.Tensor lt.Scalar", lower_compare<PT_COMPARE_LESS>, false},
                                       {"le.Tensor le.Scalar", lower_compare<PT_COMPARE_LESS_EQUAL>, false},
                                       {"gt.Tensor gt.Scalar", lower_compare<PT_COMPARE_GREATER>, false},
                                       {"ge.Tensor ge.Scalar", lower_compare<PT_COMPARE_GREATER_EQUAL>, false},
                                       {"logical_and.default", lower_logical<PT_COMPARE_AND>, false},
                                       {"logical_or.default", lower_logical<PT_COMPARE_OR>, false},
                                       {"logical_xor.default", lower_logical<PT_COMPARE_XOR>, false},
                                       {"logical_not.default", lower_logical_not, false},
                                       {"bitwise_and.Tensor bitwise_and.Scalar", lower_bitwise<PT_BITWISE_AND>, false},
                                       {"bitwise_or.Tensor bitwise_or.Scalar", lower_bitwise<PT_BITWISE_OR>, false},
                                       {"bitwise_xor.Tensor bitwise_xor.Scalar", lower_bitwise<PT_BITWISE_XOR>, false},
                                       {"bitwise_not.default", lower_any<bits_or_truth_inverted>, false},
                                       {"isinf.default", lower_real<is_infinite>, false},
                                       {"isnan.default", lower_real<import::is_nan>, false},
                                       {"where.self", lower_where}};

}  // namespace

constinit const Family element_operators = kElements;

}  // namespace pantoum::aten
