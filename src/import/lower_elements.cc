// Element by element: arithmetic, functions, activations, comparisons, logic, bits; softmax along rows; dropout. A constant scalar becomes
// a scale op, which takes no second tensor.
#include <cmath>
#include <limits>

#include "import/operators.h"
#include "import/parameter_marks.h"

namespace pantoum::import {
namespace {

constexpr double kLargest = std::numeric_limits<float>::max();

// The finite scalar that input `which` is, if it does not widen the other input's shape.
std::optional<double> scalar_operand(Node& node, size_t which) {
  const std::optional<double> scalar = node.scalar(which);
  if (!scalar || node.lowering().folds || !ir::is_float(node.type(1 - which).dtype)) return std::nullopt;
  if (!std::isfinite(*scalar) || node.shape(which).size() > node.shape(1 - which).size()) return std::nullopt;
  return scalar;
}

struct Pair {
  Value a, b;
  std::optional<double> scalar_a, scalar_b;  // where one of them is a scalar, neither is in the graph yet
};

Pair read_pair(Node& node) {
  if (const auto b = scalar_operand(node, 1)) return {node.real(0), {}, {}, b};
  if (const auto a = scalar_operand(node, 0)) return {{}, node.real(1), a, {}};
  return {node.numeric(0), node.computes_integers() ? node.value(1) : node.real(1), {}, {}};
}

Result<void> lower_add(Node& node) {
  const Pair pair = read_pair(node);
  if (pair.scalar_b) return node.set(pair.a + *pair.scalar_b);
  return node.set(pair.scalar_a ? pair.b + *pair.scalar_a : pair.a + pair.b);
}

Result<void> lower_sub(Node& node) {
  const Pair pair = read_pair(node);
  if (pair.scalar_b) return node.set(pair.a + -*pair.scalar_b);
  return node.set(pair.scalar_a ? scale(pair.b, -1, *pair.scalar_a) : pair.a - pair.b);
}

Result<void> lower_mul(Node& node) {
  const Pair pair = read_pair(node);
  if (pair.scalar_b) return node.set(pair.a * *pair.scalar_b);
  return node.set(pair.scalar_a ? pair.b * *pair.scalar_a : pair.a * pair.b);
}

Result<void> lower_div(Node& node) {
  const auto divisor = scalar_operand(node, 1);
  if (divisor && std::isfinite(1 / *divisor)) return node.set(node.real(0) * (1 / *divisor));
  const Value a = node.numeric(0);
  const Value b = node.computes_integers() ? node.value(1) : node.real(1);
  // sin(x) / x, for which 1 stands where x is 0: no gradient is to pass there
  if (read_fx_call(node.message()).target == "sinc.default")
    return node.set(a / where(compare(b, PT_COMPARE_EQUAL, 0), node.number(DType::kF32, 1), b));
  return node.set(a / b);
}

const ir::Op* maker_of(const Value& x) {
  const ir::Graph& graph = x.in().builder().graph();
  const ir::OpId op = x ? graph.value(x).producer : ir::kNone;
  return op == ir::kNone ? nullptr : &graph.ops[static_cast<size_t>(op)];
}

// Is it a sum or mean of squares or of higher powers, by factors and reshapes? Where it is 0 they all are, and its root has slope 0, as
// PyTorch's norms and deviations have it: exporters write them out.
bool is_sum_of_powers(const Value& x) {
  bool is_sum = false;
  for (Value at = x; const ir::Op* op = maker_of(at); at = at.in().at(op->inputs[0])) {
    const ir::Graph& graph = x.in().builder().graph();
    const bool square = op->kind == Kind::k_mul && op->inputs[0] == op->inputs[1];
    const bool power = op->kind == Kind::k_pow && graph.value(op->inputs[1]).role == ir::Role::kConstant;
    if (is_sum && (square || power)) return true;
    const bool factor = (op->kind == Kind::k_mul || op->kind == Kind::k_div) && !square &&
                        graph.value(op->inputs[1]).role == ir::Role::kConstant;
    const bool scaled = op->kind == Kind::k_scale && op->attrs.reals[1] == 0;
    const bool summed = op->kind == Kind::k_reduce_sum || op->kind == Kind::k_reduce_mean;
    const bool moved = op->kind == Kind::k_alias && op->attrs.ints.empty();
    if (!factor && !scaled && !summed && !moved) return false;
    is_sum = is_sum || summed;
  }
  return false;
}

Value root(const Value& x) {
  return is_sum_of_powers(x) ? root_of_squares(x) : sqrt(x);
}

// Of a sigmoid it does not overflow.
Value logarithm(const Value& x) {
  const ir::Op* maker = maker_of(x);
  return maker != nullptr && maker->kind == Kind::k_sigmoid ? log_sigmoid(x.in().at(maker->inputs[0])) : log(x);
}

// The exponent of an integer, where it is whole whatever its type.
Value whole_exponent(Node& node) {
  const std::optional<double> told = node.scalar(1);
  const bool whole = told && std::trunc(*told) == *told && std::fabs(*told) < 4e18;
  if (!whole || !ir::is_float(node.type(1).dtype)) return node.value(1);
  return node.whole(DType::kI64, node.shape(1), {static_cast<int64_t>(*told)});
}

// With an exponent of another type in what holds both: int64, or float32 beside floating point.
Result<void> lower_integer_pow(Node& node) {
  const Value a = node.value(0), b = whole_exponent(node);
  const DType both = b.is_real() || a.dtype() == b.dtype() ? b.dtype() : DType::kI64;
  const Value base = cast(a, both);
  return node.set(cast(pow(base, cast(b, both)), a.dtype()));
}

// Squares and roots are told from the exponent; the rest is the general power. An integer exponent is read as a real one.
Result<void> lower_pow(Node& node) {
  if (node.computes_integers()) return lower_integer_pow(node);
  const auto exponent = scalar_operand(node, 1);
  const Value x = node.real(0);
  if (!exponent) return node.set(pow(x, cast(node.value(1), DType::kF32)));
  if (*exponent == 0) return node.set(expand(node.number(DType::kF32, 1), x.shape()));
  if (*exponent == 1) return node.set(x);
  if (*exponent == -1) return node.set(node.number(DType::kF32, 1) / x);
  if (*exponent == 2) return node.set(x * x);
  if (*exponent == 0.5) return node.set(root(x));
  const bool of_powers = *exponent > 0 && *exponent < 1 && is_sum_of_powers(x);
  return node.set(of_powers ? root_of_powers(x, *exponent) : pow(x, node.number(DType::kF32, *exponent)));
}

// a - b * q, where q is the quotient rounded down, or for fmod = 1 towards 0 (down where it is positive, else up).
Result<void> lower_mod(Node& node) {
  const bool sign_of_a = node.attributes().integer("fmod", 0) != 0;
  if (node.computes_integers()) {
    const Value a = node.value(0);
    return node.set(node.op(Kind::k_mod, {a, node.value(1)}, {{sign_of_a ? 1 : 0}, {}}));
  }
  const Value a = node.real(0), b = node.real(1);
  Value quotient = a / b;
  if (sign_of_a) {
    const Value sign_of_quotient = sign(quotient);
    quotient = rounded(abs(quotient), kDown) * sign_of_quotient;
  } else {
    quotient = rounded(quotient, kDown);
  }
  return node.set(a - quotient * b);
}

Value sum_of_inputs(Node& node) {
  Value sum = node.real(0);
  for (size_t input = 1; input < node.input_count(); ++input) sum = sum + node.real(input);
  return sum;
}

Result<void> lower_sum(Node& node) {
  return node.set(sum_of_inputs(node));
}

Result<void> lower_mean(Node& node) {
  return node.set(sum_of_inputs(node) * (1 / static_cast<double>(node.input_count())));
}

// Any number of inputs, two by two. The newer exporter writes torch.clamp by tensors so: its gradient passes to the first at a bound.
template <Value (*kBetter)(const Value&, const Value&), Value (*kBounded)(const Value&, const Value&)>
Result<void> lower_extreme(Node& node) {
  if (node.input_count() == 2 && read_fx_call(node.message()).target.starts_with("clamp") &&
      node.type(0).dtype == node.type(1).dtype) {
    const Value x = node.value(0);
    return node.set(kBounded(x, node.value(1)));
  }
  Value y = node.numeric(0);
  const bool whole = node.computes_integers();
  for (size_t input = 1; input < node.input_count(); ++input)
    y = kBetter(y, whole ? node.value(input) : node.real(input));
  return node.set(y);
}

// Whose gradient a Clip has. The newer exporter tells in the call; a Clip between 0 and 6 is relu6 in every framework; else it is clamp.
enum class ClipRule {
  kClamp,   // the gradient passes at the bounds
  kInside,  // hardtanh, relu6: it does not
  kShared,  // maximum and minimum, which the exporter's optimizer joined: half of it does
  kRelu,    // relu and clamp, which it joined: at the upper bound it passes
};

ClipRule clip_rule(const Node& node) {
  const std::string target = read_fx_call(node.message()).target;
  const bool joined = rewriter_rules(node.message()).find("Relu") != std::string::npos;
  if (joined && !target.starts_with("hardtanh") && !target.starts_with("relu6") && node.scalar(1) == 0.0 &&
      node.scalar(2) != 6.0)
    return ClipRule::kRelu;
  if (target.starts_with("hardtanh") || target.starts_with("relu")) return ClipRule::kInside;
  if (target.starts_with("maximum") || target.starts_with("minimum")) return ClipRule::kShared;
  const bool six = node.scalar(1).value_or(-1) == 0 && node.scalar(2).value_or(-1) == 6;
  return target.empty() && six ? ClipRule::kInside : ClipRule::kClamp;
}

// A bound of one element; left out where it is absent, or bounds nothing.
Result<Value> clip_bound(Node& node, size_t input, const Value& x) {
  if (!node.has(input)) return Value();
  const std::optional<double> scalar = x.is_real() ? node.scalar(input) : std::nullopt;
  if (scalar && std::isnan(*scalar)) return misfit("a bound is not a number");
  if (scalar && (input == 1 ? *scalar <= -kLargest : *scalar >= kLargest)) return Value();
  if (scalar) return node.number(x.dtype(), std::clamp(*scalar, -kLargest, kLargest));
  const Value limit = node.value(input);
  if (limit.elements() != 1) return misfit("a bound is not one number");
  return reshape(limit, {});
}

// min(max(x, low), high): where the lower bound is above the upper one, the upper one everywhere.
Result<void> lower_clip(Node& node) {
  const Value x = node.computes_integers() || node.lowering().folds ? node.value(0) : node.real(0);
  const ClipRule rule = clip_rule(node);
  const std::optional<double> low = node.scalar(1), high = node.scalar(2);
  const bool known = (low || !node.has(1)) && (high || !node.has(2)) && !node.lowering().folds;
  if (rule == ClipRule::kInside && known && x.is_real() && low.value_or(-kLargest) <= high.value_or(kLargest))
    return node.set(clip(x, std::clamp(low.value_or(-kLargest), -kLargest, kLargest),
                         std::clamp(high.value_or(kLargest), -kLargest, kLargest)));
  PANTOUM_ASSIGN(const Value least, clip_bound(node, 1, x));
  PANTOUM_ASSIGN(const Value most, clip_bound(node, 2, x));
  const bool shared = rule == ClipRule::kShared;
  Value y = x;
  if (least) y = rule == ClipRule::kRelu ? relu(y) : shared ? maximum(y, least) : not_below(y, least);
  if (most) y = shared ? minimum(y, most) : not_above(y, most);
  return node.set(y);
}

template <Rounding kWay>
Result<void> lower_round(Node& node) {
  return node.set(rounded(node.real(0), kWay));
}

// tanh(x) cosh(x), which loses nothing near 0.
Value sinh(const Value& x) {
  const Value tangent = tanh(x);
  return tangent * cosh(x);
}

Value softsign(const Value& x) {
  return x / (abs(x) + 1.0);
}

template <int64_t kFunction>
Result<void> lower_arc(Node& node) {
  return node.set(apply(Kind::k_arc, node.real(0), {{kFunction}, {}}));
}

Result<void> lower_leaky_relu(Node& node) {
  return node.set(apply(Kind::k_leaky_relu, node.real(0), {{}, {node.attributes().real("alpha", 0.01)}}));
}

Result<void> lower_gelu(Node& node) {
  const std::string approximate = node.attributes().text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return unsupported("its approximation is '" + approximate + "'", "use approximate=\"none\" or \"tanh\"");
  return node.set(apply(Kind::k_gelu, node.real(0), {{approximate == "tanh" ? 1 : 0}, {}}));
}

// Y = X > 0 ? above X : below (e^(inner X) - 1)
Result<void> exponential(Node& node, double above, double below, double inner) {
  return node.set(apply(Kind::k_elu, node.real(0), {{}, {above, below, inner}}));
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
  if (!(alpha > 0)) return misfit("its alpha is not positive");
  return exponential(node, 1, alpha, 1 / alpha);
}

Result<void> lower_hard_sigmoid(Node& node) {
  const double alpha = node.attributes().real("alpha", 0.2), beta = node.attributes().real("beta", 0.5);
  if (!std::isfinite(alpha) || !std::isfinite(beta)) return misfit("its alpha or beta is not a finite number");
  return node.set(apply(Kind::k_hard_sigmoid, node.real(0), {{}, {alpha, beta}}));
}

// The slope broadcasts to x.
Result<void> lower_prelu(Node& node) {
  const Value x = node.real(0), slope = node.real(1);
  return node.set(prelu(x, slope));
}

Result<void> lower_thresholded_relu(Node& node) {
  const Value x = node.real(0);
  return node.set(chosen_above(x, node.attributes().real("alpha", 1), node.number(DType::kF32, 0)));
}

// x + bias below -lambd, x - bias above lambd, 0 between.
Result<void> lower_shrink(Node& node) {
  const Value x = node.real(0);
  const double bias = node.attributes().real("bias", 0), lambd = node.attributes().real("lambd", 0.5);
  const Value below = compare(x, PT_COMPARE_LESS, -lambd), above = compare(x, PT_COMPARE_GREATER, lambd);
  const Value risen = x + bias, sunk = x + -bias;
  return node.set(where(below, risen, where(above, sunk, node.number(DType::kF32, 0))));
}

// Before opset 13 all dimensions from the axis on are one row.
template <Kind kKind>
Result<void> lower_rows(Node& node) {
  const Value x = node.real(0);
  const Shape shape = x.shape();
  const bool flattens = node.opset() < 13;
  PANTOUM_ASSIGN(const size_t axis, node.axis(shape.size(), flattens ? 1 : -1));
  const Attrs along{{static_cast<int64_t>(axis)}, {}};
  if (!flattens || axis + 1 >= shape.size()) return node.set(apply(kKind, x, along));
  return node.set(reshape(apply(kKind, reshape(x, as_matrix(shape, axis)), {{1}, {}}), shape));
}

// 1 at the first maximum, else 0. Before opset 13 all dimensions from the axis on are one.
Result<void> lower_hardmax(Node& node) {
  const Value x = node.real(0);
  const Shape shape = x.shape();
  const bool older = node.opset() < 13;
  PANTOUM_ASSIGN(const size_t told, node.axis(shape.size(), older ? 1 : -1));
  const size_t axis = older ? 1 : told;
  const Shape rows = older ? as_matrix(shape, told) : shape;
  const Value first = apply(Kind::k_arg_max, reshape(x, rows), {{static_cast<int64_t>(axis)}, {}});
  Shape apart = rows, along(rows.size(), 1);
  apart[axis] = 1;
  along[axis] = rows[axis];
  if (!node.spend(rows[axis])) return node.refusal();
  const Value place = reshape(first, apart);
  const Value hit = compare(place, PT_COMPARE_EQUAL, node.positions(rows[axis], along));
  return node.set(reshape(cast(hit, DType::kF32), shape));
}

// x log y, 0 where x is 0, whose slope there is log y all the same where that is a number.
Value xlogy(const Value& x, const Value& y) {
  Composer& in = x.in();
  const Value nothing =
      compare(compare(x, PT_COMPARE_EQUAL, 0), PT_COMPARE_AND, inverted(compare(y, PT_COMPARE_GREATER, 0)));
  return x * log(where(nothing, in.number(DType::kF32, 1), y));
}

// The operands of a call that the newer exporter wrote out in nodes whose gradient is not torch's; none: another call.
Values operands_of(Node& node, std::string_view call) {
  const FxCall told = read_fx_call(node.message());
  Values operands;
  if (told.target.starts_with(call))
    for (const std::string& arg : told.args)
      if (const auto operand = arg.starts_with('%') ? node.find(arg.substr(1)) : nullptr)
        if (const Value x = node.value_of(*operand)) operands.push_back(x);
  return operands;
}

Result<void> lower_where(Node& node) {
  if (const Values operands = operands_of(node, "xlogy.");
      operands.size() == 2 && operands[0].is_real() && operands[1].is_real())
    return node.set(xlogy(operands[0], operands[1]));
  const Value condition = node.value(0), a = node.value(1);
  return node.set(where(condition, a, node.value(2)));
}

template <int64_t kRelation>
Result<void> lower_compare(Node& node) {
  const Value a = node.value(0);
  return node.set(compare(a, kRelation, node.value(1)));
}

Result<void> lower_not(Node& node) {
  return node.set(inverted(node.value(0)));
}

Result<void> lower_is_inf(Node& node) {
  Value x = node.real(0);
  const bool negative = node.attributes().integer("detect_negative", 1) != 0;
  const bool positive = node.attributes().integer("detect_positive", 1) != 0;
  if (negative && positive)
    x = abs(x);
  else if (!positive)
    x = -x;
  // Detecting neither is allowed: nothing equals NaN.
  return node.set(compare(x, PT_COMPARE_EQUAL, node.filled(1, negative || positive ? HUGE_VALF : NAN)));
}

template <int64_t kOperation>
Result<void> lower_bitwise(Node& node) {
  const Value a = node.value(0);
  return node.set(bitwise(a, kOperation, node.value(1)));
}

Result<void> lower_bitwise_not(Node& node) {
  return node.set(bits_inverted(node.value(0)));
}

Result<void> lower_bit_shift(Node& node) {
  const std::string direction = node.attributes().text("direction", "");
  if (direction == "LEFT") return lower_bitwise<PT_BITWISE_SHIFT_LEFT>(node);
  if (direction == "RIGHT") return lower_bitwise<PT_BITWISE_SHIFT_RIGHT>(node);
  return misfit("its direction is neither LEFT nor RIGHT");
}

// What it keeps of ones: the stream is the same, so the mask is.
Result<void> set_mask(Node& node, double ratio) {
  const Value one = node.number(DType::kF32, 1), zero = node.number(DType::kF32, 0);
  Value kept = node.op(Kind::k_expand, {one}, {{}, {1.0}}, {{DType::kF32, node.shape(0)}});
  if (ratio > 0) kept = apply(Kind::k_dropout, kept, {{node.position()}, {ratio}});
  return node.set(1, compare(kept, PT_COMPARE_GREATER, zero));
}

// The key of its random stream is the node's position in the file: the same file always draws the same masks.
Result<void> lower_dropout(Node& node) {
  double ratio = node.attributes().real("ratio", 0.5);
  if (node.has(1)) {
    const std::optional<double> scalar = node.scalar(1);
    if (!scalar) return unsupported("its ratio is not constant", "use a fixed ratio");
    ratio = *scalar;
  }
  if (!(ratio >= 0 && ratio < 1)) return misfit("its ratio is not in [0, 1)");
  if (node.scalar(2).value_or(0) == 0) node.note("exported for inference; trained as dropout");
  const Value x = node.value(0);
  if (node.wants(1)) PANTOUM_TRY(set_mask(node, ratio));
  return node.set(ratio == 0 ? x : apply(Kind::k_dropout, node.real(0), {{node.position()}, {ratio}}));
}

constexpr const char* kTypes = "float32; int64, int32 and uint8, which wrap";
constexpr const char* kNumbers = "float32, int64, int32, uint8";
constexpr const char* kTies = "float32, int64, int32, uint8; equal inputs share the gradient evenly";
constexpr const char* kBool = "its result is bool: no gradient passes";
constexpr const char* kBits = "integers: no gradient passes";
constexpr const char* kFlat = "its gradient is 0";

constexpr OperatorEntry kElementOperators[] = {
    {"Add", lower_add, "add scale", kTypes},
    {"Sub", lower_sub, "sub scale", kTypes},
    {"Mul", lower_mul, "mul scale", kTypes},
    {"Div", lower_div, "div scale",
     "float32; int64, int32 and uint8, which are divided towards zero, and give 0 divided by 0"},
    {"Mod", lower_mod, "mod div sign abs round mul sub", "float32; int64, int32 and uint8, which give 0 divided by 0"},
    {"Pow", lower_pow, "cast pow mul sqrt div expand compare where",
     "float32, int64, int32, uint8; the gradient of the exponent needs a positive base; integers wrap, and "
     "to a negative exponent are rounded towards zero"},
    {"Reciprocal", lower_real<reciprocal>, "div"},
    {"Sum", lower_sum, "add"},
    {"Mean", lower_mean, "add scale"},
    {"Max", lower_extreme<maximum, not_below>, "maximum compare where", kTies},
    {"Min", lower_extreme<minimum, not_above>, "minimum compare where", kTies},
    {"Neg", lower_number<negative>, "sub neg", kNumbers},
    {"Abs", lower_number<abs>, "sub maximum abs", kNumbers},
    {"Sign", lower_number<sign>, "maximum minimum sign", "float32, int64, int32, uint8; its gradient is 0"},
    {"Clip", lower_clip, "compare where maximum minimum clip",
     "float32, int64, int32, uint8; as torch.clamp, whose gradient passes at the bounds; between 0 and 6, and where "
     "PyTorch's newer exporter "
     "tells of hardtanh or relu6, it does not"},
    {"Floor", lower_round<kDown>, "round", kFlat},
    {"Ceil", lower_round<kUp>, "round", kFlat},
    {"Round", lower_round<kToEven>, "round", kFlat},
    {"Sqrt", lower_real<root>, "compare where sqrt", "of a sum of squares that is 0 the gradient is 0"},
    {"Exp", lower_op<Kind::k_exp>, "exp"},
    {"Log", lower_real<logarithm>, "log neg softplus", "of a Sigmoid it does not overflow"},
    {"Erf", lower_op<Kind::k_erf>, "erf"},
    {"Sin", lower_op<Kind::k_sin>, "sin"},
    {"Cos", lower_op<Kind::k_cos>, "cos"},
    {"Tan", lower_real<tan>, "sin cos div"},
    {"Sinh", lower_real<sinh>, "tanh exp neg add scale mul"},
    {"Cosh", lower_real<cosh>, "exp neg add scale"},
    {"Tanh", lower_op<Kind::k_tanh>, "tanh"},
    {"Asin", lower_arc<PT_ARC_SIN>, "arc"},
    {"Acos", lower_arc<PT_ARC_COS>, "arc"},
    {"Atan", lower_arc<PT_ARC_TAN>, "arc"},
    {"Asinh", lower_arc<PT_ARC_SINH>, "arc"},
    {"Acosh", lower_arc<PT_ARC_COSH>, "arc"},
    {"Atanh", lower_arc<PT_ARC_TANH>, "arc"},
    {"Relu", lower_real<relu>, "relu"},
    {"LeakyRelu", lower_leaky_relu, "leaky_relu"},
    {"PRelu", lower_prelu, "mul compare where"},
    {"ThresholdedRelu", lower_thresholded_relu, "compare where"},
    {"Shrink", lower_shrink, "compare scale where"},
    {"Elu", lower_elu, "elu"},
    {"Selu", lower_selu, "elu"},
    {"Celu", lower_celu, "elu"},
    {"Gelu", lower_gelu, "gelu"},
    {"Sigmoid", lower_op<Kind::k_sigmoid>, "sigmoid"},
    {"HardSigmoid", lower_hard_sigmoid, "hard_sigmoid"},
    {"HardSwish", lower_op<Kind::k_hard_swish>, "hard_swish"},
    {"Mish", lower_real<mish>, "softplus tanh mul"},
    {"Softplus", lower_op<Kind::k_softplus>, "softplus"},
    {"Softsign", lower_real<softsign>, "abs scale div"},
    {"Softmax", lower_rows<Kind::k_softmax>, "softmax"},
    {"LogSoftmax", lower_rows<Kind::k_log_softmax>, "log_softmax"},
    {"Hardmax", lower_hardmax, "cast arg_max compare", "no gradient passes"},
    {"Dropout", lower_dropout, "expand compare dropout", "trains with the ratio, whatever the model's training_mode"},
    {"Where", lower_where, "where", "any type"},
    {"Equal", lower_compare<PT_COMPARE_EQUAL>, "compare", kBool},
    {"Less", lower_compare<PT_COMPARE_LESS>, "compare", kBool},
    {"LessOrEqual", lower_compare<PT_COMPARE_LESS_EQUAL>, "compare", kBool},
    {"Greater", lower_compare<PT_COMPARE_GREATER>, "compare", kBool},
    {"GreaterOrEqual", lower_compare<PT_COMPARE_GREATER_EQUAL>, "compare", kBool},
    {"And", lower_compare<PT_COMPARE_AND>, "compare", kBool},
    {"Or", lower_compare<PT_COMPARE_OR>, "compare", kBool},
    {"Xor", lower_compare<PT_COMPARE_XOR>, "compare", kBool},
    {"Not", lower_not, "compare", kBool},
    {"IsNaN", lower_real<is_nan>, "compare", kBool},
    {"IsInf", lower_is_inf, "abs neg compare", kBool},
    {"BitShift", lower_bit_shift, "bitwise", "uint8: no gradient passes"},
    {"BitwiseAnd", lower_bitwise<PT_BITWISE_AND>, "bitwise", kBits},
    {"BitwiseNot", lower_bitwise_not, "bitwise", kBits},
    {"BitwiseOr", lower_bitwise<PT_BITWISE_OR>, "bitwise", kBits},
    {"BitwiseXor", lower_bitwise<PT_BITWISE_XOR>, "bitwise", kBits}};

}  // namespace

constinit const Family element_operators = kElementOperators;

}  // namespace pantoum::import
