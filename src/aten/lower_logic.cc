// Comparisons, logic, bits, and choices: no gradient passes through a condition.
#include <array>
#include <limits>

#include "aten/arithmetic.h"
#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::ValueId;

Result<ValueId> compared(Node& node, int64_t relation) {
  PANTOUM_ASSIGN(const DType dtype, common_type(node, kSelf, kOther));
  PANTOUM_ASSIGN(const ValueId a, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const ValueId b, node.as(kOther, dtype));
  return node.op(Kind::k_compare, {a, b}, {{relation}, {}});
}

template <int64_t kRelation>
Result<void> lower_compare(Node& node) {
  return node.set(compared(node, kRelation));
}

Result<void> lower_not_equal(Node& node) {
  PANTOUM_ASSIGN(const ValueId equal, compared(node, PT_COMPARE_EQUAL));
  return node.set(inverted(node, equal));
}

Result<ValueId> truth(Node& node, Slot slot) {
  PANTOUM_ASSIGN(const ValueId x, node.as(slot, DType::kBool));
  return x;
}

template <int64_t kRelation>
Result<void> lower_logical(Node& node) {
  PANTOUM_ASSIGN(const ValueId a, truth(node, kSelf));
  PANTOUM_ASSIGN(const ValueId b, truth(node, kOther));
  return node.set(node.op(Kind::k_compare, {a, b}, {{kRelation}, {}}));
}

Result<void> lower_logical_not(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, truth(node, kSelf));
  return node.set(inverted(node, x));
}

template <int64_t kBits>
Result<void> lower_bitwise(Node& node) {
  const DType dtype = node.output().dtype;
  PANTOUM_ASSIGN(const ValueId a, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const ValueId b, node.as(kOther, dtype));
  return node.set(node.op(Kind::k_bitwise, {a, b}, {{kBits}, {}}));
}

Result<void> lower_bitwise_not(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  const DType dtype = node.type_of(x).dtype;
  if (dtype == DType::kBool) return node.set(inverted(node, x));
  const int64_t ones = dtype == DType::kU8 ? 255 : -1;
  return node.set(node.op(Kind::k_bitwise, {x, node.whole_constant(dtype, {}, {ones})}, {{PT_BITWISE_XOR}, {}}));
}

Result<ValueId> is_infinite(Node& node, ValueId x) {
  const ValueId most = node.constant(DType::kF32, {}, {std::numeric_limits<float>::max()});
  PANTOUM_ASSIGN(const ValueId size, node.op(Kind::k_abs, {x}));
  return node.op(Kind::k_compare, {size, most}, {{PT_COMPARE_GREATER}, {}});
}

Result<void> lower_isinf(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, DType::kF32));
  return node.set(is_infinite(node, x));
}

Result<void> lower_isnan(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, DType::kF32));
  PANTOUM_ASSIGN(const ValueId same, node.op(Kind::k_compare, {x, x}, {{PT_COMPARE_EQUAL}, {}}));
  return node.set(inverted(node, same));
}

Result<void> lower_where(Node& node) {
  const DType dtype = node.output().dtype;
  PANTOUM_ASSIGN(const ValueId condition, truth(node, {0, "condition"}));
  PANTOUM_ASSIGN(const ValueId a, node.as({1, "self"}, dtype));
  PANTOUM_ASSIGN(const ValueId b, node.as({2, "other"}, dtype));
  PANTOUM_ASSIGN(const ValueId y, chosen(node, condition, a, b));
  return node.set(node.expand(y, node.output().shape));
}

Result<void> lower_masked_fill(Node& node) {
  const DType dtype = node.output().dtype;
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const ValueId mask, truth(node, {1, "mask"}));
  PANTOUM_ASSIGN(const ValueId value, node.as({2, "value"}, dtype));
  return node.set(chosen(node, mask, value, x));
}

constexpr std::array kLogic = {OperatorEntry{"eq.Tensor", lower_compare<PT_COMPARE_EQUAL>, false},
                               OperatorEntry{"eq.Scalar", lower_compare<PT_COMPARE_EQUAL>, false},
                               OperatorEntry{"ne.Tensor", lower_not_equal, false},
                               OperatorEntry{"ne.Scalar", lower_not_equal, false},
                               OperatorEntry{"lt.Tensor", lower_compare<PT_COMPARE_LESS>, false},
                               OperatorEntry{"lt.Scalar", lower_compare<PT_COMPARE_LESS>, false},
                               OperatorEntry{"le.Tensor", lower_compare<PT_COMPARE_LESS_EQUAL>, false},
                               OperatorEntry{"le.Scalar", lower_compare<PT_COMPARE_LESS_EQUAL>, false},
                               OperatorEntry{"gt.Tensor", lower_compare<PT_COMPARE_GREATER>, false},
                               OperatorEntry{"gt.Scalar", lower_compare<PT_COMPARE_GREATER>, false},
                               OperatorEntry{"ge.Tensor", lower_compare<PT_COMPARE_GREATER_EQUAL>, false},
                               OperatorEntry{"ge.Scalar", lower_compare<PT_COMPARE_GREATER_EQUAL>, false},
                               OperatorEntry{"logical_and.default", lower_logical<PT_COMPARE_AND>, false},
                               OperatorEntry{"logical_or.default", lower_logical<PT_COMPARE_OR>, false},
                               OperatorEntry{"logical_xor.default", lower_logical<PT_COMPARE_XOR>, false},
                               OperatorEntry{"logical_not.default", lower_logical_not, false},
                               OperatorEntry{"bitwise_and.Tensor", lower_bitwise<PT_BITWISE_AND>, false},
                               OperatorEntry{"bitwise_and.Scalar", lower_bitwise<PT_BITWISE_AND>, false},
                               OperatorEntry{"bitwise_or.Tensor", lower_bitwise<PT_BITWISE_OR>, false},
                               OperatorEntry{"bitwise_or.Scalar", lower_bitwise<PT_BITWISE_OR>, false},
                               OperatorEntry{"bitwise_xor.Tensor", lower_bitwise<PT_BITWISE_XOR>, false},
                               OperatorEntry{"bitwise_xor.Scalar", lower_bitwise<PT_BITWISE_XOR>, false},
                               OperatorEntry{"bitwise_not.default", lower_bitwise_not, false},
                               OperatorEntry{"isinf.default", lower_isinf, false},
                               OperatorEntry{"isnan.default", lower_isnan, false},
                               OperatorEntry{"where.self", lower_where},
                               OperatorEntry{"where.ScalarOther", lower_where},
                               OperatorEntry{"where.ScalarSelf", lower_where},
                               OperatorEntry{"where.Scalar", lower_where},
                               OperatorEntry{"masked_fill.Scalar", lower_masked_fill},
                               OperatorEntry{"masked_fill.Tensor", lower_masked_fill}};

}  // namespace

std::span<const OperatorEntry> logic_operators() {
  return kLogic;
}

}  // namespace pantoum::aten
