// Folding of element-by-element operators.
#include <algorithm>
#include <array>
#include <cmath>

#include "import/fold.h"
#include "kernels/portable/pt_math.h"

namespace pantoum::import {
namespace {

using ir::DType;

// Integers wrap, as they do in every runtime of ONNX.
int64_t wrap_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
int64_t wrap_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t wrap_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}
// Division by zero gives 0; -2^63 / -1 wraps.
int64_t safe_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? wrap_sub(0, a) : a / b;
}
int64_t safe_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double rounded(DType dtype, double value) {
  return dtype == DType::kF32 ? static_cast<double>(static_cast<float>(value)) : value;
}

struct Operands {
  ir::Shape shape;
  std::vector<size_t> left, right;
};

Result<Operands> broadcast_operands(const FoldCall& call, const Numbers& a, const Numbers& b) {
  const std::optional<ir::Shape> shape = broadcast_shapes(a.shape, b.shape);
  if (!shape) return fail("E0211", "constants do not broadcast to one shape");
  PANTOUM_TRY(check_folded_size(call, *shape));
  return Operands{*shape, broadcast_sources(a.shape, *shape), broadcast_sources(b.shape, *shape)};
}

template <class Ints, class Reals>
Result<Numbers> combine(const FoldCall& call, Ints on_ints, Reals on_reals) {
  const Numbers &a = *call.inputs[0], &b = *call.inputs[1];
  if (a.is_real() != b.is_real()) return fail("E0211", "constants differ in type");
  PANTOUM_ASSIGN(const Operands operands, broadcast_operands(call, a, b));
  Numbers result{a.dtype, operands.shape, {}, {}};
  for (size_t element = 0; element < operands.left.size(); ++element) {
    const size_t left = operands.left[element], right = operands.right[element];
    if (a.is_real()) {
      result.reals.push_back(rounded(a.dtype, on_reals(a.reals[left], b.reals[right])));
    } else {
      result.ints.push_back(on_ints(a.ints[left], b.ints[right]));
    }
  }
  return result;
}

template <class Compare>
Result<Numbers> compare(const FoldCall& call, Compare holds) {
  const Numbers &a = *call.inputs[0], &b = *call.inputs[1];
  if (a.is_real() != b.is_real()) return fail("E0211", "constants differ in type");
  PANTOUM_ASSIGN(const Operands operands, broadcast_operands(call, a, b));
  Numbers result{DType::kBool, operands.shape, {}, {}};
  for (size_t element = 0; element < operands.left.size(); ++element) {
    const size_t left = operands.left[element], right = operands.right[element];
    result.ints.push_back(a.is_real() ? holds(a.reals[left], b.reals[right]) : holds(a.ints[left], b.ints[right]));
  }
  return result;
}

Result<Numbers> fold_add(const FoldCall& call) {
  return combine(call, wrap_add, [](double a, double b) { return a + b; });
}
Result<Numbers> fold_sub(const FoldCall& call) {
  return combine(call, wrap_sub, [](double a, double b) { return a - b; });
}
Result<Numbers> fold_mul(const FoldCall& call) {
  return combine(call, wrap_mul, [](double a, double b) { return a * b; });
}
Result<Numbers> fold_div(const FoldCall& call) {
  return combine(call, safe_div, [](double a, double b) { return a / b; });
}
Result<Numbers> fold_mod(const FoldCall& call) {
  return combine(call, safe_mod, [](double a, double b) { return std::fmod(a, b); });
}
Result<Numbers> fold_equal(const FoldCall& call) {
  return compare(call, [](auto a, auto b) { return a == b; });
}
Result<Numbers> fold_less(const FoldCall& call) {
  return compare(call, [](auto a, auto b) { return a < b; });
}
Result<Numbers> fold_greater(const FoldCall& call) {
  return compare(call, [](auto a, auto b) { return a > b; });
}
Result<Numbers> fold_less_equal(const FoldCall& call) {
  return compare(call, [](auto a, auto b) { return a <= b; });
}
Result<Numbers> fold_greater_equal(const FoldCall& call) {
  return compare(call, [](auto a, auto b) { return a >= b; });
}
Result<Numbers> fold_xor(const FoldCall& call) {
  return combine(
      call, [](int64_t a, int64_t b) { return static_cast<int64_t>((a != 0) != (b != 0)); },
      [](double a, double) { return a; });
}
Result<Numbers> fold_and(const FoldCall& call) {
  return combine(
      call, [](int64_t a, int64_t b) { return static_cast<int64_t>(a != 0 && b != 0); },
      [](double a, double) { return a; });
}
Result<Numbers> fold_or(const FoldCall& call) {
  return combine(
      call, [](int64_t a, int64_t b) { return static_cast<int64_t>(a != 0 || b != 0); },
      [](double a, double) { return a; });
}

template <class Ints, class Reals>
Result<Numbers> each(const FoldCall& call, Ints on_ints, Reals on_reals) {
  Numbers result = *call.inputs[0];
  for (int64_t& value : result.ints) value = on_ints(value);
  for (double& value : result.reals) value = rounded(result.dtype, on_reals(value));
  return result;
}

constexpr auto kSame = [](int64_t value) { return value; };

Result<Numbers> fold_neg(const FoldCall& call) {
  return each(
      call, [](int64_t value) { return wrap_sub(0, value); }, [](double value) { return -value; });
}
Result<Numbers> fold_not(const FoldCall& call) {
  return each(
      call, [](int64_t value) { return static_cast<int64_t>(value == 0); }, [](double value) { return value; });
}
Result<Numbers> fold_sqrt(const FoldCall& call) {
  return each(call, kSame, [](double value) { return std::sqrt(value); });
}
Result<Numbers> fold_floor(const FoldCall& call) {
  return each(call, kSame, [](double value) { return std::floor(value); });
}
Result<Numbers> fold_ceil(const FoldCall& call) {
  return each(call, kSame, [](double value) { return std::ceil(value); });
}
Result<Numbers> fold_round(const FoldCall& call) {
  return each(call, kSame, [](double value) { return std::nearbyint(value); });
}
Result<Numbers> fold_abs(const FoldCall& call) {
  return each(
      call, [](int64_t value) { return value < 0 ? wrap_sub(0, value) : value; },
      [](double value) { return std::fabs(value); });
}
Result<Numbers> fold_reciprocal(const FoldCall& call) {
  return each(call, kSame, [](double value) { return 1 / value; });
}
// The same functions as the kernels', so that every machine folds the same bits.
Result<Numbers> fold_exp(const FoldCall& call) {
  return each(call, kSame, pt_exp);
}
Result<Numbers> fold_log(const FoldCall& call) {
  return each(call, kSame, pt_log);
}
Result<Numbers> fold_sin(const FoldCall& call) {
  return each(call, kSame, pt_sin);
}
Result<Numbers> fold_cos(const FoldCall& call) {
  return each(call, kSame, pt_cos);
}

// Exponent and base may differ in type; the base's is the result's.
Result<Numbers> fold_pow(const FoldCall& call) {
  const Numbers &a = *call.inputs[0], &b = *call.inputs[1];
  if (!a.is_real()) return fail("E0401", "only powers of floating-point constants are folded");
  PANTOUM_ASSIGN(const Operands operands, broadcast_operands(call, a, b));
  Numbers result{a.dtype, operands.shape, {}, {}};
  for (size_t element = 0; element < operands.left.size(); ++element) {
    const double power = pt_pow(a.reals[operands.left[element]], b.real(operands.right[element]));
    result.reals.push_back(rounded(a.dtype, power));
  }
  return result;
}

Result<Numbers> fold_identity(const FoldCall& call) {
  return *call.inputs[0];
}

Result<Numbers> fold_cast(const FoldCall& call) {
  Attributes attributes(call.node);
  const int64_t to = attributes.integer("to", 0);
  const std::optional<DType> dtype = to > 0 && to < 64 ? dtype_of(static_cast<int32_t>(to)) : std::nullopt;
  if (!dtype) return fail("E0401", "the element type to cast to is not supported", {}, "export the model in float32");
  const Numbers& from = *call.inputs[0];
  if (from.is_real()) return to_numbers(make_tensor(*dtype, from.shape, from.reals));
  return to_numbers(make_tensor(*dtype, from.shape, from.ints));
}

Result<Numbers> fold_where(const FoldCall& call) {
  const Numbers &condition = *call.inputs[0], &a = *call.inputs[1], &b = *call.inputs[2];
  if (a.dtype != b.dtype || condition.is_real()) return fail("E0211", "constants differ in type");
  std::optional<ir::Shape> shape = broadcast_shapes(a.shape, b.shape);
  if (shape) shape = broadcast_shapes(*shape, condition.shape);
  if (!shape) return fail("E0211", "constants do not broadcast to one shape");
  PANTOUM_TRY(check_folded_size(call, *shape));
  const std::vector<size_t> tests = broadcast_sources(condition.shape, *shape);
  const Numbers left = pick(a, *shape, broadcast_sources(a.shape, *shape));
  Numbers result = pick(b, *shape, broadcast_sources(b.shape, *shape));
  for (size_t element = 0; element < tests.size(); ++element) {
    if (condition.ints[tests[element]] == 0) continue;
    if (a.is_real()) {
      result.reals[element] = left.reals[element];
    } else {
      result.ints[element] = left.ints[element];
    }
  }
  return result;
}

// why: one row per operator, and nothing that two tables could share.
constexpr std::array kArithmeticFolders = {
    FolderEntry{"Add", 2, fold_add},
    FolderEntry{"Sub", 2, fold_sub},
    FolderEntry{"Mul", 2, fold_mul},
    FolderEntry{"Div", 2, fold_div},
    FolderEntry{"Mod", 2, fold_mod},
    FolderEntry{"Equal", 2, fold_equal},
    FolderEntry{"Less", 2, fold_less},
    FolderEntry{"Greater", 2, fold_greater},
    FolderEntry{"And", 2, fold_and},
    FolderEntry{"Or", 2, fold_or},
    FolderEntry{"Neg", 1, fold_neg},
    FolderEntry{"Not", 1, fold_not},
    FolderEntry{"LessOrEqual", 2, fold_less_equal},
    FolderEntry{"GreaterOrEqual", 2, fold_greater_equal},
    FolderEntry{"Xor", 2, fold_xor},
    FolderEntry{"Pow", 2, fold_pow},
    FolderEntry{"Exp", 1, fold_exp},
    FolderEntry{"Log", 1, fold_log},
    FolderEntry{"Sin", 1, fold_sin},
    FolderEntry{"Cos", 1, fold_cos},
    FolderEntry{"Round", 1, fold_round},
    FolderEntry{"Abs", 1, fold_abs},
    FolderEntry{"Reciprocal", 1, fold_reciprocal},
    FolderEntry{"Sqrt", 1, fold_sqrt},
    FolderEntry{"Floor", 1, fold_floor},
    FolderEntry{"Ceil", 1, fold_ceil},
    FolderEntry{"Cast", 1, fold_cast},
    FolderEntry{"Identity", 1, fold_identity},
    FolderEntry{"Where", 3, fold_where},
};

}  // namespace

std::span<const FolderEntry> arithmetic_folders() {
  return kArithmeticFolders;
}

}  // namespace pantoum::import
