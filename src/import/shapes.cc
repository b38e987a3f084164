#include "import/shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "import/tensor.h"

namespace pantoum::import {
namespace {

Failure refuse(std::string sentence, std::string help = {}) {
  return fail("E0211", std::move(sentence), {}, std::move(help));
}

// A step so large that it cannot be added without overflow picks one element anyway.
constexpr int64_t kFarthest = INT32_MAX;

SlicePiece piece(int64_t start, int64_t step, int64_t distance) {
  const int64_t count = distance > 0 ? (distance - 1) / (step > 0 ? step : -step) + 1 : 0;
  return {start, count > 1 ? step : 1, count};
}

SlicePiece piece_of(int64_t extent, int64_t start, int64_t end, int64_t step) {
  step = std::clamp(step, -kFarthest, kFarthest);
  if (start < 0) start = start < -extent ? -1 : start + extent;
  if (end < 0) end = end < -extent ? -1 : end + extent;
  if (step > 0) {
    start = std::clamp<int64_t>(start, 0, extent);
    end = std::clamp<int64_t>(end, 0, extent);
    return piece(start, step, end - start);
  }
  start = std::clamp<int64_t>(start, -1, extent - 1);
  end = std::clamp<int64_t>(end, -1, extent - 1);
  return piece(start, step, start - end);
}

}  // namespace

Result<int64_t> normalize_axis(int64_t axis, size_t rank) {
  const auto dimensions = static_cast<int64_t>(rank);
  if (axis < -dimensions || axis >= dimensions) {
    return refuse(fmt::format("axis {} is not among {} dimensions", axis, rank));
  }
  return axis < 0 ? axis + dimensions : axis;
}

Result<Integers> normalize_axes(Integers axes, size_t rank) {
  if (axes.size() > rank) return refuse(fmt::format("{} axes for {} dimensions", axes.size(), rank));
  for (int64_t& axis : axes) {
    PANTOUM_ASSIGN(axis, normalize_axis(axis, rank));
  }
  std::ranges::sort(axes);
  if (std::ranges::adjacent_find(axes) != axes.end()) return refuse("an axis is named twice");
  return axes;
}

Result<Shape> resolve_reshape(const Shape& from, const Integers& wanted, bool allow_zero) {
  const std::optional<int64_t> count = count_elements(from);
  Shape shape = wanted;
  std::optional<size_t> open;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0 && !allow_zero) {
      if (d >= from.size()) return refuse(fmt::format("the new shape copies dimension {}, which does not exist", d));
      shape[d] = from[d];
    }
    if (shape[d] != -1) continue;
    if (open) return refuse("the new shape leaves two dimensions open");
    open = d;
    shape[d] = 1;
  }
  const std::optional<int64_t> others = count_elements(shape);
  if (count && others && open && *others > 0 && *count % *others == 0) shape[*open] = *count / *others;
  if (!count || !others || count_elements(shape) != count) {
    return refuse(fmt::format("{} does not reshape to {}", ir::to_text(from), ir::to_text(wanted)),
                  "a batch baked into the model, perhaps: export with dynamic_axes (dynamo=True: dynamic_shapes) for "
                  "the batch, or use the model's "
                  "own --batch");
  }
  return shape;
}

Result<Shape> squeezed(const Shape& from, const std::optional<Integers>& axes) {
  Integers gone;
  if (axes) {
    PANTOUM_ASSIGN(gone, normalize_axes(*axes, from.size()));
  }
  Shape shape;
  for (size_t d = 0; d < from.size(); ++d) {
    const bool named = std::ranges::binary_search(gone, static_cast<int64_t>(d));
    if (named && from[d] != 1) return refuse(fmt::format("dimension {} of {} is not 1", d, ir::to_text(from)));
    if (!named && (axes || from[d] != 1)) shape.push_back(from[d]);
  }
  return shape;
}

Result<Shape> unsqueezed(const Shape& from, const Integers& axes) {
  PANTOUM_ASSIGN(const Integers made, normalize_axes(axes, from.size() + axes.size()));
  Shape shape;
  size_t next = 0;
  for (size_t d = 0; d < from.size() + made.size(); ++d) {
    const bool fresh = std::ranges::binary_search(made, static_cast<int64_t>(d));
    shape.push_back(fresh ? 1 : from[next++]);
  }
  return shape;
}

std::optional<Shape> broadcast_shapes(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (size_t back = 1; back <= shape.size(); ++back) {
    const int64_t left = back <= a.size() ? a[a.size() - back] : 1;
    const int64_t right = back <= b.size() ? b[b.size() - back] : 1;
    if (left != right && left != 1 && right != 1) return std::nullopt;
    shape[shape.size() - back] = left == 1 ? right : left;
  }
  return shape;
}

Shape as_matrix(const Shape& shape, size_t axis) {
  Shape matrix = {1, 1};
  for (size_t d = 0; d < shape.size(); ++d) matrix[d < axis ? 0 : 1] *= shape[d];
  return matrix;
}

Result<std::vector<SlicePiece>> slice_pieces(const Shape& from, const Integers& starts, const Integers& ends,
                                             const Integers& axes, const Integers& steps) {
  const size_t count = starts.size();
  if (ends.size() != count || (!axes.empty() && axes.size() != count) || (!steps.empty() && steps.size() != count)) {
    return refuse("starts, ends, axes and steps differ in length");
  }
  if (count > from.size()) return refuse("more starts than dimensions");
  std::vector<SlicePiece> pieces;
  for (const int64_t extent : from) pieces.push_back({0, 1, extent});
  for (size_t entry = 0; entry < count; ++entry) {
    const int64_t step = steps.empty() ? 1 : steps[entry];
    if (step == 0) return refuse("a step is 0");
    PANTOUM_ASSIGN(const int64_t axis,
                   normalize_axis(axes.empty() ? static_cast<int64_t>(entry) : axes[entry], from.size()));
    const auto d = static_cast<size_t>(axis);
    pieces[d] = piece_of(from[d], starts[entry], ends[entry], step);
  }
  return pieces;
}

}  // namespace pantoum::import
