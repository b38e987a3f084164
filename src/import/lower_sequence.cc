// Sequences of tensors whose length is known while importing: they vanish.
#include <fmt/format.h>

#include <array>

#include "import/operators.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Shape;
using ir::ValueId;

void set_sequence(Node& node, std::vector<ValueId> parts) {
  auto sequence = std::make_shared<Operand>();
  sequence->problem = "it is a sequence of tensors";
  sequence->sequence = true;
  sequence->parts = std::move(parts);
  node.set(0, std::move(sequence));
}

Result<std::vector<ValueId>> parts_of(Node& node) {
  if (!node.has(0) || !node.operand(0)->sequence) return fail("E0211", "its first input is not a sequence");
  return node.operand(0)->parts;
}

// Where in `count` places the position input leads; `otherwise` without one.
Result<size_t> place(Node& node, size_t input, size_t count, size_t otherwise) {
  if (!node.has(input)) return otherwise;
  PANTOUM_ASSIGN(const std::vector<int64_t> told, node.integers(input, "position"));
  const auto places = static_cast<int64_t>(count);
  if (told.size() != 1 || told[0] < -places || told[0] >= places)
    return fail("E0211", fmt::format("its position is outside the {} of the sequence", count));
  return static_cast<size_t>(told[0] < 0 ? told[0] + places : told[0]);
}

Result<void> lower_sequence_empty(Node& node) {
  set_sequence(node, {});
  return {};
}

Result<void> lower_sequence_construct(Node& node) {
  std::vector<ValueId> parts(node.input_count());
  for (size_t input = 0; input < parts.size(); ++input) {
    PANTOUM_ASSIGN(parts[input], node.value(input));
  }
  set_sequence(node, std::move(parts));
  return {};
}

// Before the part at the position: behind the last one as well, where a position from the end does not lead.
Result<void> lower_sequence_insert(Node& node) {
  PANTOUM_ASSIGN(std::vector<ValueId> parts, parts_of(node));
  PANTOUM_ASSIGN(const ValueId part, node.value(1));
  const std::optional<double> told = node.has(2) ? node.scalar(2) : std::nullopt;
  const bool from_end = told && *told < 0;
  PANTOUM_ASSIGN(const size_t at, place(node, 2, parts.size() + (from_end ? 0 : 1), parts.size()));
  parts.insert(parts.begin() + static_cast<std::ptrdiff_t>(at), part);
  set_sequence(node, std::move(parts));
  return {};
}

Result<void> lower_sequence_erase(Node& node) {
  PANTOUM_ASSIGN(std::vector<ValueId> parts, parts_of(node));
  if (parts.empty()) return fail("E0211", "its sequence is empty");
  PANTOUM_ASSIGN(const size_t at, place(node, 1, parts.size(), parts.size() - 1));
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at));
  set_sequence(node, std::move(parts));
  return {};
}

Result<void> lower_sequence_length(Node& node) {
  PANTOUM_ASSIGN(const std::vector<ValueId> parts, parts_of(node));
  node.set_known(0, make_tensor(ir::DType::kI64, {}, std::vector<int64_t>{static_cast<int64_t>(parts.size())}));
  return {};
}

// Along an axis that the parts have, or a new one.
Result<void> lower_concat_from_sequence(Node& node) {
  PANTOUM_ASSIGN(std::vector<ValueId> parts, parts_of(node));
  if (parts.empty()) return fail("E0211", "its sequence is empty");
  const bool is_new = node.attributes().integer("new_axis", 0) != 0;
  const size_t rank = node.builder().type(parts[0]).shape.size() + (is_new ? 1 : 0);
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", 0), rank));
  for (ValueId& part : parts) {
    Shape shape = node.builder().type(part).shape;
    if (is_new && shape.size() + 1 != rank) return fail("E0211", "its parts differ in shape");
    if (is_new) shape.insert(shape.begin() + axis, 1);
    PANTOUM_ASSIGN(part, node.reshape(part, shape));
  }
  PANTOUM_ASSIGN(const ValueId y, node.op(ir::Kind::k_concat, parts, {{axis}, {}}));
  node.set(0, y);
  return {};
}

constexpr const char* kStatic = "of a sequence of known length; it vanishes";
constexpr std::array kSequenceOperators = {
    OperatorEntry{"SequenceEmpty", lower_sequence_empty, "", kStatic},
    OperatorEntry{"SequenceConstruct", lower_sequence_construct, "", kStatic},
    OperatorEntry{"SequenceInsert", lower_sequence_insert, "", kStatic},
    OperatorEntry{"SequenceErase", lower_sequence_erase, "", kStatic},
    OperatorEntry{"SequenceLength", lower_sequence_length, "", "folded"},
    OperatorEntry{"ConcatFromSequence", lower_concat_from_sequence, "concat", kStatic}};

}  // namespace

bool reads_sequence(const std::string& op_type) {
  for (const char* reader : {"SequenceAt", "SequenceInsert", "SequenceErase", "SequenceLength", "ConcatFromSequence"})
    if (op_type == reader) return true;
  return false;
}

std::span<const OperatorEntry> sequence_operators() {
  return kSequenceOperators;
}

}  // namespace pantoum::import
