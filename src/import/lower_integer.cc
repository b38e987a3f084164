// Bits, and what is made of other ops where the numbers are integers.
#include "import/integers.h"

#include <array>
#include <cmath>

namespace pantoum::import {
namespace {

using ir::DType;
using ir::Kind;
using ir::ValueId;

Result<void> finish_integer(Node& node, Result<ValueId> y) {
  PANTOUM_ASSIGN(const ValueId made, std::move(y));
  node.set(0, made);
  return {};
}

Result<void> bits_of_both(Node& node, int64_t operation) {
  PANTOUM_ASSIGN(const ValueId a, node.value(0));
  PANTOUM_ASSIGN(const ValueId b, node.value(1));
  return finish_integer(node, node.op(Kind::k_bitwise, {a, b}, {{operation}, {}}));
}

template <int64_t kOperation>
Result<void> lower_bitwise(Node& node) {
  return bits_of_both(node, kOperation);
}

Result<void> lower_bitwise_not(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  return finish_integer(node, whole_not(node, x));
}

Result<void> lower_bit_shift(Node& node) {
  const std::string direction = node.attributes().text("direction", "");
  if (direction == "LEFT") return bits_of_both(node, PT_BITWISE_SHIFT_LEFT);
  if (direction == "RIGHT") return bits_of_both(node, PT_BITWISE_SHIFT_RIGHT);
  return fail("E0211", "its direction is neither LEFT nor RIGHT");
}

constexpr const char* kIntegers = "integers: no gradient passes";
constexpr std::array kIntegerOperators = {
    OperatorEntry{"BitShift", lower_bit_shift, "bitwise", "uint8: no gradient passes"},
    OperatorEntry{"BitwiseAnd", lower_bitwise<PT_BITWISE_AND>, "bitwise", kIntegers},
    OperatorEntry{"BitwiseNot", lower_bitwise_not, "bitwise", kIntegers},
    OperatorEntry{"BitwiseOr", lower_bitwise<PT_BITWISE_OR>, "bitwise", kIntegers},
    OperatorEntry{"BitwiseXor", lower_bitwise<PT_BITWISE_XOR>, "bitwise", kIntegers}};

Result<ValueId> as_type(Node& node, ValueId x, DType dtype) {
  const ir::TensorType from = node.builder().type(x);
  if (from.dtype == dtype) return x;
  return node.op(Kind::k_cast, {x}, {}, {{dtype, from.shape}});
}

}  // namespace

bool computes_integers(const Node& node) {
  if (!node.has(0)) return false;
  const DType dtype = node.type(0).dtype;
  return dtype == DType::kI64 || dtype == DType::kI32 || dtype == DType::kU8;
}

ValueId whole_constant(Node& node, DType dtype, ir::Shape shape, const std::vector<int64_t>& values) {
  const Tensor made = make_tensor(dtype, std::move(shape), values);
  return node.builder().constant(node.label() + ".constant", made.type, made.data);
}

Result<ValueId> whole_neg(Node& node, ValueId x) {
  const ValueId zero = whole_constant(node, node.builder().type(x).dtype, {}, {0});
  return node.op(Kind::k_sub, {zero, x});
}

Result<ValueId> whole_not(Node& node, ValueId x) {
  const ValueId ones = whole_constant(node, node.builder().type(x).dtype, {}, {-1});
  return node.op(Kind::k_bitwise, {x, ones}, {{PT_BITWISE_XOR}, {}});
}

Result<void> lower_integer_neg(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  return finish_integer(node, whole_neg(node, x));
}

// max(x, -x); of the least integer that is itself, as in numpy.
Result<void> lower_integer_abs(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  if (node.type(0).dtype == DType::kU8) return finish_integer(node, x);
  PANTOUM_ASSIGN(const ValueId negative, whole_neg(node, x));
  return finish_integer(node, node.op(Kind::k_maximum, {x, negative}));
}

// min(max(x, -1), 1)
Result<void> lower_integer_sign(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.value(0));
  const DType dtype = node.type(0).dtype;
  if (dtype != DType::kU8) {
    PANTOUM_ASSIGN(x, node.op(Kind::k_maximum, {x, whole_constant(node, dtype, {}, {-1})}));
  }
  return finish_integer(node, node.op(Kind::k_minimum, {x, whole_constant(node, dtype, {}, {1})}));
}

// The exponent, where it is whole whatever its type.
Result<ValueId> whole_exponent(Node& node) {
  const std::optional<double> told = node.scalar(1);
  const bool whole = told && std::trunc(*told) == *told && std::fabs(*told) < 4e18;
  if (!whole || !ir::is_float(node.type(1).dtype)) return node.value(1);
  return whole_constant(node, DType::kI64, node.shape(1), {static_cast<int64_t>(*told)});
}

// With an exponent of another type in what holds both: int64, or float32 beside floating point.
Result<void> lower_integer_pow(Node& node) {
  PANTOUM_ASSIGN(ValueId a, node.value(0));
  PANTOUM_ASSIGN(ValueId b, whole_exponent(node));
  const DType base = node.builder().type(a).dtype, exponent = node.builder().type(b).dtype;
  const DType both = ir::is_float(exponent) ? exponent : base == exponent ? base : DType::kI64;
  PANTOUM_ASSIGN(a, as_type(node, a, both));
  PANTOUM_ASSIGN(b, as_type(node, b, both));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_pow, {a, b}));
  return finish_integer(node, as_type(node, y, base));
}

std::span<const OperatorEntry> integer_operators() {
  return kIntegerOperators;
}

}  // namespace pantoum::import
