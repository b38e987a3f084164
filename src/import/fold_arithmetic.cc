// Folding of arithmetic and of mathematical functions, element by element.
#include <algorithm>
#include <array>
#include <cmath>

#include "import/fold_elements.h"
#include "import/half.h"
#include "import/onnx_messages.h"
#include "kernels/portable/pt_integer.h"
#include "kernels/portable/pt_math.h"

namespace pantoum::import {
namespace {

using ir::DType;

Result<Numbers> fold_add(const FoldCall& call) {
  return fold_pairs(call, pt_whole_add, [](double a, double b) { return a + b; });
}
Result<Numbers> fold_sub(const FoldCall& call) {
  return fold_pairs(call, pt_whole_sub, [](double a, double b) { return a - b; });
}
Result<Numbers> fold_mul(const FoldCall& call) {
  return fold_pairs(call, pt_whole_mul, [](double a, double b) { return a * b; });
}
Result<Numbers> fold_div(const FoldCall& call) {
  return fold_pairs(call, pt_whole_div, [](double a, double b) { return a / b; });
}

double floor_mod(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

Result<Numbers> fold_mod(const FoldCall& call) {
  if (Attributes(call.node).integer("fmod", 0) != 0) {
    return fold_pairs(call, pt_whole_fmod, [](double a, double b) { return std::fmod(a, b); });
  }
  return fold_pairs(call, pt_whole_mod, floor_mod);
}

constexpr auto kSame = [](int64_t value) { return value; };

Result<Numbers> fold_neg(const FoldCall& call) {
  return fold_each(
      call, [](int64_t value) { return pt_whole_sub(0, value); }, [](double value) { return -value; });
}
Result<Numbers> fold_abs(const FoldCall& call) {
  return fold_each(
      call, [](int64_t value) { return value < 0 ? pt_whole_sub(0, value) : value; },
      [](double value) { return std::fabs(value); });
}
Result<Numbers> fold_relu(const FoldCall& call) {
  const auto positive = [](auto value) { return value < 0 ? decltype(value)(0) : value; };
  return fold_each(call, positive, positive);
}
Result<Numbers> fold_sign(const FoldCall& call) {
  const auto sign = [](auto value) { return value > 0 ? decltype(value)(1) : value < 0 ? decltype(value)(-1) : value; };
  return fold_each(call, sign, sign);
}
Result<Numbers> fold_sqrt(const FoldCall& call) {
  return fold_each(call, kSame, [](double value) { return std::sqrt(value); });
}
Result<Numbers> fold_floor(const FoldCall& call) {
  return fold_each(call, kSame, [](double value) { return std::floor(value); });
}
Result<Numbers> fold_ceil(const FoldCall& call) {
  return fold_each(call, kSame, [](double value) { return std::ceil(value); });
}
Result<Numbers> fold_round(const FoldCall& call) {
  return fold_each(call, kSame, [](double value) { return std::nearbyint(value); });
}
Result<Numbers> fold_reciprocal(const FoldCall& call) {
  return fold_each(call, kSame, [](double value) { return 1 / value; });
}
// The same functions as the kernels', so that every machine folds the same bits.
Result<Numbers> fold_exp(const FoldCall& call) {
  return fold_each(call, kSame, pt_exp);
}
Result<Numbers> fold_log(const FoldCall& call) {
  return fold_each(call, kSame, pt_log);
}
Result<Numbers> fold_sin(const FoldCall& call) {
  return fold_each(call, kSame, pt_sin);
}
Result<Numbers> fold_cos(const FoldCall& call) {
  return fold_each(call, kSame, pt_cos);
}

// Of an integer. Whole exponents are integers, whatever their type.
int64_t whole_power(DType dtype, int64_t base, const Numbers& exponents, size_t at) {
  if (!exponents.is_real()) return pt_whole_pow(base, exponents.ints[at]);
  const double exponent = exponents.reals[at];
  if (std::trunc(exponent) == exponent && std::fabs(exponent) < 4e18) {
    return pt_whole_pow(base, static_cast<int64_t>(exponent));
  }
  return whole_within(dtype, pt_pow(static_cast<double>(base), exponent));
}

// Exponent and base may differ in type; the base's is the result's.
Result<Numbers> fold_pow(const FoldCall& call) {
  const Numbers &a = *call.inputs[0], &b = *call.inputs[1];
  PANTOUM_ASSIGN(const FoldedOperands operands, broadcast_constants(call, a, b));
  Numbers result{a.dtype, operands.shape, {}, {}};
  for (size_t element = 0; element < operands.left.size(); ++element) {
    const size_t left = operands.left[element], right = operands.right[element];
    if (a.is_real()) {
      result.reals.push_back(rounded(a.dtype, pt_pow(a.reals[left], b.real(right))));
    } else {
      result.ints.push_back(whole_power(a.dtype, a.ints[left], b, right));
    }
  }
  return result;
}

Result<Numbers> converted(const Numbers& from, DType to) {
  if (from.is_real()) return to_numbers(make_tensor(to, from.shape, from.reals));
  return to_numbers(make_tensor(to, from.shape, from.ints));
}

Result<Numbers> fold_cast(const FoldCall& call) {
  Attributes attributes(call.node);
  const int64_t to = attributes.integer("to", 0);
  const std::optional<DType> dtype = to > 0 && to < 64 ? dtype_of(static_cast<int32_t>(to)) : std::nullopt;
  if (!dtype) return fail("E0401", "the element type to cast to is not supported", {}, "export the model in float32");
  PANTOUM_ASSIGN(Numbers made, converted(*call.inputs[0], *dtype));
  const bool half = to == onnx::TensorProto::FLOAT16, brain = to == onnx::TensorProto::BFLOAT16;
  for (double& value : made.reals) {
    const auto wide = static_cast<float>(value);
    if (half) value = static_cast<double>(from_half(to_half(wide)));
    if (brain) value = static_cast<double>(from_bfloat16(to_bfloat16(wide)));
  }
  return made;
}

// why: one row per operator, and nothing that two tables could share.
constexpr std::array kArithmeticFolders = {
    FolderEntry{"Add", 2, fold_add},   FolderEntry{"Sub", 2, fold_sub},
    FolderEntry{"Mul", 2, fold_mul},   FolderEntry{"Div", 2, fold_div},
    FolderEntry{"Mod", 2, fold_mod},   FolderEntry{"Neg", 1, fold_neg},
    FolderEntry{"Pow", 2, fold_pow},   FolderEntry{"Exp", 1, fold_exp},
    FolderEntry{"Log", 1, fold_log},   FolderEntry{"Sin", 1, fold_sin},
    FolderEntry{"Cos", 1, fold_cos},   FolderEntry{"Round", 1, fold_round},
    FolderEntry{"Abs", 1, fold_abs},   FolderEntry{"Relu", 1, fold_relu},
    FolderEntry{"Sign", 1, fold_sign}, FolderEntry{"Reciprocal", 1, fold_reciprocal},
    FolderEntry{"Sqrt", 1, fold_sqrt}, FolderEntry{"Floor", 1, fold_floor},
    FolderEntry{"Ceil", 1, fold_ceil}, FolderEntry{"Cast", 1, fold_cast}};

}  // namespace

std::span<const FolderEntry> arithmetic_folders() {
  return kArithmeticFolders;
}

}  // namespace pantoum::import
