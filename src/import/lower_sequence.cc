// Sequences of tensors whose length the model alone decides: each tensor is a value of its own.
#include <algorithm>
#include <array>

#include "import/operators.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Shape;
using ir::ValueId;

Result<std::vector<ValueId>> parts_of(Node& node) {
  if (!node.has(0) || !node.operand(0)->sequence) return fail("E0211", "its input 0 is no sequence");
  return node.operand(0)->parts;
}

// A position among `count` places; negative ones count from the end.
Result<size_t> position_of(Node& node, size_t input, size_t count) {
  PANTOUM_ASSIGN(const std::vector<int64_t> told, node.integers(input, "position"));
  const auto places = static_cast<int64_t>(count);
  if (told.size() != 1 || told[0] < -places || told[0] >= places) return fail("E0211", "its position is out of range");
  return static_cast<size_t>(told[0] < 0 ? told[0] + places : told[0]);
}

Result<void> lower_sequence_at(Node& node) {
  PANTOUM_ASSIGN(const std::vector<ValueId> parts, parts_of(node));
  PANTOUM_ASSIGN(const size_t at, position_of(node, 1, parts.size()));
  node.set(0, parts[at]);
  return {};
}

Result<void> lower_sequence_construct(Node& node) {
  std::vector<ValueId> parts;
  for (size_t input = 0; input < node.input_count(); ++input) {
    PANTOUM_ASSIGN(const ValueId part, node.value(input));
    parts.push_back(part);
  }
  node.set_sequence(0, std::move(parts));
  return {};
}

Result<void> lower_sequence_insert(Node& node) {
  PANTOUM_ASSIGN(std::vector<ValueId> parts, parts_of(node));
  PANTOUM_ASSIGN(const ValueId fresh, node.value(1));
  size_t at = parts.size();
  if (node.has(2)) {
    PANTOUM_ASSIGN(const std::vector<int64_t> told, node.integers(2, "position"));
    const auto count = static_cast<int64_t>(parts.size());
    if (told.size() != 1 || told[0] < -count || told[0] > count) return fail("E0211", "its position is out of range");
    at = static_cast<size_t>(told[0] < 0 ? told[0] + count : told[0]);
  }
  parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at), fresh);
  node.set_sequence(0, std::move(parts));
  return {};
}

Result<void> lower_sequence_erase(Node& node) {
  PANTOUM_ASSIGN(std::vector<ValueId> parts, parts_of(node));
  size_t at = parts.size() - 1;
  if (parts.empty()) return fail("E0211", "its sequence is empty");
  if (node.has(1)) {
    PANTOUM_ASSIGN(at, position_of(node, 1, parts.size()));
  }
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at));
  node.set_sequence(0, std::move(parts));
  return {};
}

Result<void> lower_sequence_length(Node& node) {
  PANTOUM_ASSIGN(const std::vector<ValueId> parts, parts_of(node));
  node.set_known(0, make_tensor(ir::DType::kI64, {}, std::vector{static_cast<int64_t>(parts.size())}));
  return {};
}

Result<void> lower_concat_from_sequence(Node& node) {
  PANTOUM_ASSIGN(std::vector<ValueId> parts, parts_of(node));
  if (parts.empty()) return unsupported("its sequence is empty, and nothing has no elements");
  const bool stacks = node.attributes().integer("new_axis", 0) != 0;
  const size_t rank = node.builder().type(parts[0]).shape.size() + (stacks ? 1 : 0);
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", 0), rank));
  for (ValueId& part : parts) {
    Shape shape = node.builder().type(part).shape;
    if (stacks && shape.size() + 1 == rank) shape.insert(shape.begin() + axis, 1);
    PANTOUM_ASSIGN(part, node.reshape(part, std::move(shape)));
    ir::TensorType like = node.builder().type(part), first = node.builder().type(parts[0]);
    if (like.shape.size() != rank) return fail("E0211", "its tensors differ in their number of dimensions");
    if (!stacks) like.shape[static_cast<size_t>(axis)] = first.shape[static_cast<size_t>(axis)];
    if (like != first) return fail("E0211", "its tensors differ in type or shape");
  }
  node.set(0, node.builder().concat(node.label(), std::move(parts), axis));
  return {};
}

constexpr std::array kSequenceOperators = {
    OperatorEntry{"SequenceAt", lower_sequence_at, "", "a constant position"},
    OperatorEntry{"SequenceEmpty", lower_sequence_construct},
    OperatorEntry{"SequenceConstruct", lower_sequence_construct},
    OperatorEntry{"SequenceInsert", lower_sequence_insert, "", "a constant position"},
    OperatorEntry{"SequenceErase", lower_sequence_erase, "", "a constant position"},
    OperatorEntry{"SequenceLength", lower_sequence_length, "", "folded"},
    OperatorEntry{"ConcatFromSequence", lower_concat_from_sequence, "concat"}};

}  // namespace

std::span<const OperatorEntry> sequence_operators() {
  return kSequenceOperators;
}

}  // namespace pantoum::import
