// Transpose, Concat, Slice and Gather.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "import/concat_part.h"
#include "import/operators.h"
#include "import/slices.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

bool swaps_last_two(const std::vector<int64_t>& perm) {
  std::vector<int64_t> swapped(perm.size());
  std::iota(swapped.begin(), swapped.end(), int64_t{0});
  if (swapped.size() < 2) return false;
  std::swap(swapped.back(), swapped[swapped.size() - 2]);
  return perm == swapped;
}

Result<void> lower_transpose(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  const size_t rank = node.shape(0).size();
  std::vector<int64_t> perm(rank);
  for (size_t d = 0; d < rank; ++d) perm[d] = static_cast<int64_t>(rank - 1 - d);
  perm = node.attributes().integers("perm").value_or(perm);
  PANTOUM_ASSIGN(const ValueId y, node.transpose(x, perm));
  auto made = std::make_shared<Operand>();
  made->id = y;
  if (swaps_last_two(perm)) made->untransposed = x;
  node.set(0, std::move(made));
  return {};
}

// Such a part adds nothing: its extent along the axis is 0, the others are those of the rest.
bool is_empty_part(const Node& node, size_t input, int64_t axis) {
  if (!node.has(input) || node.type(input).elements() != 0) return false;
  Shape rest = node.shape(input);
  for (size_t other = 0; other < node.input_count(); ++other) {
    if (!node.has(other) || node.type(other).elements() == 0) continue;
    const auto along = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(rest.size()) : axis);
    if (along >= rest.size() || rest[along] != 0 || rest.size() != node.shape(other).size()) return false;
    rest[along] = node.shape(other)[along];
    return rest == node.shape(other) && node.type(input).dtype == node.type(other).dtype;
  }
  return false;
}

Result<void> lower_concat(Node& node) {
  std::vector<ValueId> parts;
  for (size_t input = 0; input < node.input_count(); ++input) {
    if (is_empty_part(node, input, node.attributes().integer("axis", 0))) continue;
    PANTOUM_ASSIGN(const ValueId part, node.value(input));
    parts.push_back(part);
  }
  if (parts.empty() || !node.attributes().has("axis")) return fail("E0211", "it has no inputs or no axis");
  PANTOUM_ASSIGN(const int64_t axis,
                 normalize_axis(node.attributes().integer("axis", 0), node.builder().type(parts[0]).shape.size()));
  ir::TensorType whole = node.builder().type(parts[0]);
  for (size_t part = 1; part < parts.size(); ++part) {
    const std::vector<ir::TensorType> pair = {whole, node.builder().type(parts[part])};
    PANTOUM_ASSIGN(const std::vector<ir::TensorType> joined, ir::infer_types(Kind::k_concat, {pair, {}, {{axis}, {}}}));
    whole = joined[0];
  }
  node.set(0, node.builder().concat(node.label(), parts, axis));
  return {};
}

// Where one index of one axis is taken, and all of the others: that part, if x was concatenated from it.
ValueId known_part(Node& node, ValueId x, const std::vector<SlicePiece>& pieces) {
  const Shape from = node.builder().type(x).shape;
  size_t axis = pieces.size();
  for (size_t d = 0; d < pieces.size(); ++d) {
    const bool whole = pieces[d].start == 0 && pieces[d].step == 1 && pieces[d].count == from[d];
    if (whole) continue;
    if (axis != pieces.size() || pieces[d].count != 1) return ir::kNone;
    axis = d;
  }
  return axis == pieces.size() ? ir::kNone : concat_part(node.builder(), x, axis, pieces[axis].start);
}

// torch.roll by 0 is what it takes nothing of, and the rest.
Tensor nothing_of(const Node& node, const std::vector<SlicePiece>& pieces) {
  Tensor nothing;
  nothing.type.dtype = node.type(0).dtype;
  for (const SlicePiece& piece : pieces) nothing.type.shape.push_back(piece.count);
  nothing.data = std::make_shared<const std::vector<std::byte>>();
  return nothing;
}

Result<void> lower_slice(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  const char* const names[] = {"starts", "ends", "axes", "steps"};
  std::array<std::vector<int64_t>, 4> lists;
  for (size_t list = 0; list < lists.size(); ++list) {
    if (list >= 2 && !node.has(list + 1)) continue;
    PANTOUM_ASSIGN(lists[list], node.integers(list + 1, names[list]));
  }
  PANTOUM_ASSIGN(const auto pieces, slice_pieces(node.shape(0), lists[0], lists[1], lists[2], lists[3]));
  const bool empty =
      std::any_of(pieces.begin(), pieces.end(), [](const SlicePiece& piece) { return piece.count == 0; });
  if (empty) {
    node.set_known(0, nothing_of(node, pieces));
    return {};
  }
  PANTOUM_ASSIGN(const ValueId y, sliced(node, x, pieces));
  node.set(0, y);
  return {};
}

// One constant index is a slice, whose gradient is cheaper.
Result<void> gather_one(Node& node, ValueId x, size_t along, int64_t index) {
  const Shape from = node.shape(0);
  const int64_t at = index < 0 ? index + from[along] : index;
  if (at < 0 || at >= from[along]) return fail("E0211", "its index is out of range");
  std::vector<SlicePiece> pieces;
  for (const int64_t extent : from) pieces.push_back({0, 1, extent});
  pieces[along] = {at, 1, 1};
  PANTOUM_ASSIGN(ValueId y, sliced(node, x, pieces));
  Shape shape = from;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(along));
  const Shape& indices = node.shape(1);
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(along), indices.begin(), indices.end());
  PANTOUM_ASSIGN(y, node.reshape(y, shape));
  node.set(0, y);
  return {};
}

Result<void> check_indices(Node& node, int64_t extent) {
  const Tensor* indices = node.setting(1);
  if (indices == nullptr || ir::is_float(indices->type.dtype)) return {};
  const std::vector<int64_t> values = *to_ints(*indices);
  const bool inside =
      std::all_of(values.begin(), values.end(), [&](int64_t index) { return index >= -extent && index < extent; });
  return inside ? Result<void>() : fail("E0211", "a constant index is out of range");
}

Result<void> lower_gather(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  if (!node.has(1)) return fail("E0211", "its input 1 is missing");
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", 0), node.shape(0).size()));
  const auto along = static_cast<size_t>(axis);
  const Tensor* setting = node.setting(1);
  if (setting != nullptr && setting->type.elements() == 1 && !ir::is_float(setting->type.dtype)) {
    return gather_one(node, x, along, to_ints(*setting)->front());
  }
  PANTOUM_TRY(check_indices(node, node.shape(0)[along]));
  PANTOUM_ASSIGN(const ValueId indices, node.value(1));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_gather, {x, indices}, {{axis}, {}}));
  node.set(0, y);
  return {};
}

constexpr std::array kMoveOperators = {
    OperatorEntry{"Transpose", lower_transpose, "transpose"}, OperatorEntry{"Concat", lower_concat, "concat"},
    OperatorEntry{"Slice", lower_slice, "slice", "constant starts, ends, axes and steps"},
    OperatorEntry{"Gather", lower_gather, "gather slice",
                  "an embedding's padding_idx is not in ONNX: that row trains like the others; plain SGD updates the "
                  "rows of the batch alone (`sgd_rows`)"}};

}  // namespace

Result<ValueId> sliced(Node& node, ValueId x, const std::vector<SlicePiece>& pieces) {
  if (const ValueId part = known_part(node, x, pieces); part != ir::kNone) return part;
  const ir::TensorType from = node.builder().type(x);
  ir::Attrs attrs;
  Shape shape;
  bool whole = true;
  for (size_t d = 0; d < pieces.size(); ++d) {
    attrs.ints.push_back(pieces[d].start);
    attrs.ints.push_back(pieces[d].step);
    shape.push_back(pieces[d].count);
    whole = whole && pieces[d].start == 0 && pieces[d].step == 1 && pieces[d].count == from.shape[d];
  }
  if (whole) return x;
  return node.op(Kind::k_slice, {x}, std::move(attrs), {{from.dtype, std::move(shape)}});
}

std::span<const OperatorEntry> move_operators() {
  return kMoveOperators;
}

}  // namespace pantoum::import
