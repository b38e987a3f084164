// Split and SplitToSequence.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "import/numbers.h"
#include "import/operators.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Shape;
using ir::ValueId;

Result<std::vector<int64_t>> check_extents(std::vector<int64_t> extents, int64_t whole) {
  int64_t left = whole;
  for (const int64_t part : extents) {
    if (part < 1 || part > left) return fail("E0211", fmt::format("its parts do not make up the extent {}", whole));
    left -= part;
  }
  if (left != 0) return fail("E0211", fmt::format("its parts do not make up the extent {}", whole));
  return extents;
}

// Parts of `each`; the last one takes what is left.
std::vector<int64_t> even_extents(int64_t whole, int64_t each) {
  std::vector<int64_t> extents;
  for (int64_t start = 0; start < whole; start += each) extents.push_back(std::min(each, whole - start));
  return extents;
}

// How much of `whole` each output of a Split takes.
Result<std::vector<int64_t>> split_extents(Node& node, int64_t whole) {
  PANTOUM_ASSIGN(const auto told, node.integers_or_attribute(1, "split"));
  const auto count = static_cast<int64_t>(node.output_count());
  if (!told && node.attributes().integer("num_outputs", count) != count) {
    return fail("E0211", "its num_outputs is wrong");
  }
  std::vector<int64_t> extents = told ? *told : even_extents(whole, count > 0 ? (whole - 1) / count + 1 : whole);
  if (static_cast<int64_t>(extents.size()) != count) {
    return fail("E0211", fmt::format("its parts do not make up the extent {}", whole));
  }
  return check_extents(std::move(extents), whole);
}

Result<size_t> axis_of(Node& node) {
  PANTOUM_TRY(node.value(0));
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", 0), node.shape(0).size()));
  return static_cast<size_t>(axis);
}

// The extents of a shape, one by one: they stay known.
void split_known(Node& node, const std::vector<int64_t>& whole, const std::vector<int64_t>& extents) {
  auto begin = whole.begin();
  for (size_t part = 0; part < extents.size(); ++part, begin += extents[part - 1])
    node.set_known(part, make_tensor(ir::DType::kI64, {extents[part]}, std::vector(begin, begin + extents[part])));
}

Result<void> lower_split(Node& node) {
  const Tensor* known = node.setting(0);
  if (known != nullptr && known->type.dtype == ir::DType::kI64 && known->type.shape.size() == 1) {
    PANTOUM_TRY(normalize_axis(node.attributes().integer("axis", 0), 1));
    PANTOUM_ASSIGN(const std::vector<int64_t> extents, split_extents(node, known->type.shape[0]));
    split_known(node, to_numbers(*known).ints, extents);
    return {};
  }
  PANTOUM_ASSIGN(const size_t along, axis_of(node));
  PANTOUM_ASSIGN(const std::vector<int64_t> extents, split_extents(node, node.shape(0)[along]));
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  const std::vector<ValueId> parts = node.builder().split(node.label(), x, static_cast<int64_t>(along), extents);
  for (size_t part = 0; part < parts.size(); ++part) node.set(part, parts[part]);
  return {};
}

// Without extents every part is one element, whose dimension leaves unless it is kept.
Result<void> lower_split_to_sequence(Node& node) {
  PANTOUM_ASSIGN(const size_t along, axis_of(node));
  const int64_t whole = node.shape(0)[along];
  std::vector<int64_t> extents = even_extents(whole, 1);
  if (node.has(1)) {
    PANTOUM_ASSIGN(extents, node.integers(1, "extents"));
    const bool each = node.type(1).shape.empty();
    if (each && (extents[0] < 1 || extents[0] > whole)) return fail("E0211", "its parts are out of range");
    PANTOUM_ASSIGN(extents, check_extents(each ? even_extents(whole, extents[0]) : extents, whole));
  }
  const bool squeezes = !node.has(1) && node.attributes().integer("keepdims", 1) == 0;
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  std::vector<ValueId> parts = node.builder().split(node.label(), x, static_cast<int64_t>(along), extents);
  for (ValueId& part : parts) {
    Shape shape = node.builder().type(part).shape;
    if (squeezes) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(along));
    PANTOUM_ASSIGN(part, node.reshape(part, shape));
  }
  node.set_sequence(0, std::move(parts));
  return {};
}

constexpr std::array kSplitOperators = {
    OperatorEntry{"Split", lower_split, "split", "constant parts"},
    OperatorEntry{"SplitToSequence", lower_split_to_sequence, "split", "constant parts"}};

}  // namespace

std::span<const OperatorEntry> split_operators() {
  return kSplitOperators;
}

}  // namespace pantoum::import
