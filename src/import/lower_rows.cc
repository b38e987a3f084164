// Parts of a tensor by position: CenterCropPad, Compress, ReverseSequence.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "import/integers.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

struct Centered {
  ir::Attrs cut, surround;  // [start, step] of every dimension
  Shape kept, shape;
};

// What is left over is cut off, or added, behind.
Result<Centered> center(const Shape& from, const std::vector<int64_t>& axes, const std::vector<int64_t>& extents) {
  if (axes.size() != extents.size()) return fail("E0211", "its shape does not name every axis");
  Centered centered{{}, {}, from, from};
  centered.cut.ints.assign(2 * from.size(), 0);
  for (size_t d = 0; d < from.size(); ++d) centered.cut.ints[2 * d + 1] = 1;
  centered.surround = centered.cut;
  for (size_t entry = 0; entry < axes.size(); ++entry) {
    const auto d = static_cast<size_t>(axes[entry]);
    const int64_t extent = extents[entry], whole = from[d];
    if (extent < 1 || extent > INT32_MAX) return fail("E0211", fmt::format("an extent of {} is out of range", extent));
    if (extent < whole) centered.cut.ints[2 * d] = (whole - extent) / 2;
    if (extent > whole) centered.surround.ints[2 * d] = (extent - whole) / 2;
    centered.kept[d] = std::min(extent, whole);
    centered.shape[d] = extent;
  }
  return centered;
}

Result<void> lower_center_crop_pad(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.value(0));
  PANTOUM_ASSIGN(const std::vector<int64_t> extents, node.integers(1, "shape"));
  const ir::TensorType from = node.type(0);
  std::vector<int64_t> axes(from.shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto told = node.attributes().integers("axes")) {
    PANTOUM_TRY(normalize_axes(*told, from.shape.size()));
    axes = *told;  // in the order of the extents
    for (int64_t& axis : axes) axis += axis < 0 ? static_cast<int64_t>(from.shape.size()) : 0;
  }
  PANTOUM_ASSIGN(const Centered centered, center(from.shape, axes, extents));
  if (centered.kept != from.shape) {
    PANTOUM_ASSIGN(x, node.op(Kind::k_slice, {x}, centered.cut, {{from.dtype, centered.kept}}));
  }
  if (centered.shape != centered.kept) {
    PANTOUM_ASSIGN(x, node.op(Kind::k_slice_grad, {x}, centered.surround, {{from.dtype, centered.shape}}));
  }
  node.set(0, x);
  return {};
}

Result<void> lower_compress(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.value(0));
  const Tensor* condition = node.has(1) ? node.setting(1) : nullptr;
  const auto stays = condition == nullptr ? std::nullopt : to_ints(*condition);
  if (!stays) return unsupported("its condition is not constant", "export with fixed shapes");
  Shape shape = node.shape(0);
  int64_t axis = 0;
  if (node.attributes().has("axis")) {
    PANTOUM_ASSIGN(axis, normalize_axis(node.attributes().integer("axis", 0), shape.size()));
  } else {
    shape = {node.type(0).elements()};
    PANTOUM_ASSIGN(x, node.reshape(x, shape));
  }
  std::vector<int64_t> kept;
  for (size_t at = 0; at < stays->size(); ++at)
    if ((*stays)[at] != 0) kept.push_back(static_cast<int64_t>(at));
  if (kept.empty()) return unsupported("it keeps nothing");
  if (kept.back() >= shape[static_cast<size_t>(axis)]) return fail("E0211", "its condition is longer than its input");
  const auto count = static_cast<int64_t>(kept.size());
  PANTOUM_TRY(node.spend(count));
  const ValueId indices = node.builder().constant_i64(node.label() + ".kept", {count}, kept);
  PANTOUM_ASSIGN(x, node.op(Kind::k_gather, {x, indices}, {{axis}, {}}));
  node.set(0, x);
  return {};
}

// For every time t and sample b the row of [T, B] that is read: that of time length - 1 - t before b's end.
Result<ValueId> rows_read(Node& node, int64_t steps, int64_t batch, bool time_first) {
  PANTOUM_ASSIGN(ValueId lengths, node.value(1));
  if (node.type(1).dtype != DType::kI64) return unsupported("its lengths are not int64");
  if (node.shape(1) != Shape{batch}) return fail("E0211", "its lengths are not one a sample");
  const auto along = [&](int64_t extent, bool first, int64_t step) {
    std::vector<int64_t> positions(static_cast<size_t>(extent));
    for (int64_t at = 0; at < extent; ++at) positions[static_cast<size_t>(at)] = at * step;
    return whole_constant(node, DType::kI64, first ? Shape{extent, 1} : Shape{1, extent}, positions);
  };
  PANTOUM_TRY(node.spend(steps + batch));
  const ValueId time = along(steps, time_first, 1), sample = along(batch, !time_first, time_first ? 1 : steps);
  PANTOUM_ASSIGN(lengths, node.reshape(lengths, time_first ? Shape{1, batch} : Shape{batch, 1}));
  PANTOUM_ASSIGN(const ValueId before, node.op(Kind::k_compare, {time, lengths}, {{PT_COMPARE_LESS}, {}}));
  PANTOUM_ASSIGN(const ValueId last, node.op(Kind::k_sub, {lengths, whole_constant(node, DType::kI64, {}, {1})}));
  PANTOUM_ASSIGN(const ValueId mirrored, node.op(Kind::k_sub, {last, time}));
  PANTOUM_ASSIGN(const ValueId read, node.op(Kind::k_where, {before, mirrored, time}));
  // Through a table of the times' rows: the kernel refuses a length beyond the input, which would lead to another sample.
  PANTOUM_ASSIGN(const ValueId table, node.reshape(along(steps, true, time_first ? batch : 1), {steps}));
  PANTOUM_ASSIGN(const ValueId row, node.op(Kind::k_gather, {table, read}, {{0}, {}}));
  return node.op(Kind::k_add, {row, sample});
}

Result<void> lower_reverse_sequence(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.value(0));
  const Shape shape = node.shape(0);
  const int64_t time_axis = node.attributes().integer("time_axis", 0);
  const int64_t batch_axis = node.attributes().integer("batch_axis", 1);
  if (shape.size() < 2 || time_axis + batch_axis != 1 || time_axis * batch_axis != 0)
    return fail("E0211", "its time and batch are not the first two dimensions");
  const bool time_first = time_axis == 0;
  PANTOUM_ASSIGN(const ValueId rows, rows_read(node, shape[time_first ? 0 : 1], shape[time_first ? 1 : 0], time_first));
  Shape table(shape.begin() + 1, shape.end());
  table[0] *= shape[0];
  PANTOUM_ASSIGN(x, node.reshape(x, table));
  PANTOUM_ASSIGN(x, node.op(Kind::k_gather, {x, rows}, {{0}, {}}));
  node.set(0, x);
  return {};
}

constexpr std::array kRowOperators = {
    OperatorEntry{"CenterCropPad", lower_center_crop_pad, "slice slice_grad", "constant shape"},
    OperatorEntry{"Compress", lower_compress, "gather", "constant condition, which keeps something"},
    OperatorEntry{"ReverseSequence", lower_reverse_sequence, "compare sub where add gather"}};

}  // namespace

std::span<const OperatorEntry> row_operators() {
  return kRowOperators;
}

}  // namespace pantoum::import
