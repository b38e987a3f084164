// Where, comparisons, logic, Max and Min.
#include <array>

#include "import/integers.h"

namespace pantoum::import {
namespace {

using ir::DType;
using ir::Kind;
using ir::ValueId;

Result<void> lower_where(Node& node) {
  PANTOUM_ASSIGN(const ValueId condition, node.value(0));
  PANTOUM_ASSIGN(const ValueId a, node.value(1));
  PANTOUM_ASSIGN(const ValueId b, node.value(2));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_where, {condition, a, b}));
  node.set(0, y);
  return {};
}

Result<ValueId> compared(Node& node, int64_t relation) {
  PANTOUM_ASSIGN(const ValueId a, node.value(0));
  PANTOUM_ASSIGN(const ValueId b, node.value(1));
  return node.op(Kind::k_compare, {a, b}, {{relation}, {}});
}

template <int64_t kRelation>
Result<void> lower_compare(Node& node) {
  PANTOUM_ASSIGN(const ValueId y, compared(node, kRelation));
  node.set(0, y);
  return {};
}

Result<ValueId> negated(Node& node, ValueId x) {
  const auto data = std::make_shared<const std::vector<std::byte>>(1, std::byte{0});
  const ValueId no = node.builder().constant(node.label() + ".false", {DType::kBool, {}}, data);
  return node.op(Kind::k_compare, {x, no}, {{PT_COMPARE_EQUAL}, {}});
}

Result<void> lower_not(Node& node) {
  PANTOUM_ASSIGN(ValueId y, node.value(0));
  PANTOUM_ASSIGN(y, negated(node, y));
  node.set(0, y);
  return {};
}

// What does not equal itself.
Result<void> lower_is_nan(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_compare, {x, x}, {{PT_COMPARE_EQUAL}, {}}));
  PANTOUM_ASSIGN(y, negated(node, y));
  node.set(0, y);
  return {};
}

// Any number of inputs, two by two.
template <Kind kKind>
Result<void> lower_extreme(Node& node) {
  const bool whole = computes_integers(node);
  PANTOUM_ASSIGN(ValueId y, whole ? node.value(0) : node.real(0));
  for (size_t input = 1; input < node.input_count(); ++input) {
    PANTOUM_ASSIGN(const ValueId next, whole ? node.value(input) : node.real(input));
    PANTOUM_ASSIGN(y, node.op(kKind, {y, next}));
  }
  node.set(0, y);
  return {};
}

constexpr const char* kNoGradient = "its result is bool: no gradient passes";
constexpr const char* kTies = "float32, int64, int32, uint8; equal inputs share the gradient evenly";
constexpr std::array kSelectOperators = {
    OperatorEntry{"Where", lower_where, "where", "any type"},
    OperatorEntry{"Equal", lower_compare<PT_COMPARE_EQUAL>, "compare", kNoGradient},
    OperatorEntry{"Less", lower_compare<PT_COMPARE_LESS>, "compare", kNoGradient},
    OperatorEntry{"LessOrEqual", lower_compare<PT_COMPARE_LESS_EQUAL>, "compare", kNoGradient},
    OperatorEntry{"Greater", lower_compare<PT_COMPARE_GREATER>, "compare", kNoGradient},
    OperatorEntry{"GreaterOrEqual", lower_compare<PT_COMPARE_GREATER_EQUAL>, "compare", kNoGradient},
    OperatorEntry{"And", lower_compare<PT_COMPARE_AND>, "compare", kNoGradient},
    OperatorEntry{"Or", lower_compare<PT_COMPARE_OR>, "compare", kNoGradient},
    OperatorEntry{"Xor", lower_compare<PT_COMPARE_XOR>, "compare", kNoGradient},
    OperatorEntry{"Not", lower_not, "compare", kNoGradient},
    OperatorEntry{"IsNaN", lower_is_nan, "compare", kNoGradient},
    OperatorEntry{"Max", lower_extreme<Kind::k_maximum>, "maximum", kTies},
    OperatorEntry{"Min", lower_extreme<Kind::k_minimum>, "minimum", kTies}};

}  // namespace

std::span<const OperatorEntry> select_operators() {
  return kSelectOperators;
}

}  // namespace pantoum::import
