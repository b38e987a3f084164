// Elements picked by a rule, joined, repeated, turned around.
#include <algorithm>
#include <array>
#include <numeric>

#include "aten/operators.h"
#include "aten/pieces.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

// An index from the end, within [0, extent].
int64_t within(int64_t index, int64_t extent) {
  return std::clamp<int64_t>(index < 0 ? index + extent : index, 0, extent);
}

struct Range {
  size_t axis = 0;
  int64_t begin = 0, count = 0, step = 1;
};

// What slice takes: dim, start, end, step from the given place of the schema.
Result<Range> read_range(Node& node, const Shape& shape, size_t first) {
  if (shape.empty()) return fail("E0211", "its operand has no dimensions");
  PANTOUM_ASSIGN(const int64_t told, node.dimension({first, "dim"}, shape.size(), 0));
  const auto axis = static_cast<size_t>(told);
  const int64_t extent = shape[axis];
  PANTOUM_ASSIGN(const int64_t start, node.integer({first + 1, "start"}, 0));
  PANTOUM_ASSIGN(const int64_t end, node.integer({first + 2, "end"}, extent));
  PANTOUM_ASSIGN(const int64_t step, node.integer({first + 3, "step"}, 1));
  if (step < 1) return fail("E0211", "its step is not above 0");
  const int64_t begin = within(start, extent), stop = within(end, extent);
  return Range{axis, begin, std::max<int64_t>(0, (stop - begin + step - 1) / step), step};
}

Result<void> lower_slice(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const Range range, read_range(node, node.shape_of(x), 1));
  return node.set(piece(node, x, range.axis, range.begin, range.count, range.step));
}

Result<void> lower_select(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  PANTOUM_ASSIGN(const int64_t index, node.integer({2, "index"}));
  const int64_t extent = node.shape_of(x)[axis];
  PANTOUM_ASSIGN(x, piece(node, x, axis, index < 0 ? index + extent : index, 1));
  return node.set(node.reshape(x, node.output().shape));
}

Result<void> lower_narrow(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  PANTOUM_ASSIGN(const int64_t start, node.integer({2, "start"}));
  PANTOUM_ASSIGN(const int64_t length, node.integer({3, "length"}));
  const int64_t extent = node.shape_of(x)[axis];
  return node.set(piece(node, x, axis, start < 0 ? start + extent : start, length));
}

// x with a piece of it replaced.
Result<ValueId> replaced(Node& node, ValueId x, ValueId source, const Range& range) {
  const Shape shape = node.shape_of(x);
  Shape part = shape;
  part[range.axis] = range.count;
  PANTOUM_ASSIGN(source, node.cast(source, node.type_of(x).dtype));
  PANTOUM_ASSIGN(source, node.expand(source, part));
  if (range.step != 1) {
    std::vector<int64_t> rows(static_cast<size_t>(range.count));
    for (size_t row = 0; row < rows.size(); ++row) rows[row] = range.begin + static_cast<int64_t>(row) * range.step;
    const ValueId index = node.whole_constant(DType::kI64, {range.count}, rows);
    return node.op(Kind::k_scatter_elements, {x, index, source},
                   {{static_cast<int64_t>(range.axis), PT_SCATTER_LAST}, {}});
  }
  std::vector<ValueId> parts;
  const int64_t extent = shape[range.axis], end = range.begin + range.count;
  if (range.begin > 0) {
    PANTOUM_ASSIGN(parts.emplace_back(), piece(node, x, range.axis, 0, range.begin));
  }
  parts.push_back(source);
  if (end < extent) {
    PANTOUM_ASSIGN(parts.emplace_back(), piece(node, x, range.axis, end, extent - end));
  }
  return joined(node, std::move(parts), static_cast<int64_t>(range.axis));
}

Result<void> lower_slice_scatter(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const ValueId source, node.tensor({1, "src"}));
  PANTOUM_ASSIGN(const Range range, read_range(node, node.shape_of(x), 2));
  return node.set(range.count == 0 ? Result<ValueId>(x) : replaced(node, x, source, range));
}

Result<void> lower_select_scatter(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(ValueId source, node.tensor({1, "src"}));
  const Shape shape = node.shape_of(x);
  PANTOUM_ASSIGN(const size_t axis, node.axis({2, "dim"}, x, 0));
  PANTOUM_ASSIGN(const int64_t index, node.integer({3, "index"}));
  Shape part = shape;
  part[axis] = 1;
  PANTOUM_ASSIGN(source, node.reshape(source, part));
  const int64_t begin = index < 0 ? index + shape[axis] : index;
  return node.set(replaced(node, x, source, {axis, begin, 1, 1}));
}

// Parts in the captured type.
Result<std::vector<ValueId>> read_parts(Node& node) {
  PANTOUM_ASSIGN(std::vector<ValueId> parts, node.tensors({0, "tensors"}));
  for (ValueId& part : parts) {
    PANTOUM_ASSIGN(part, node.cast(part, node.output().dtype));
  }
  return parts;
}

Result<void> lower_cat(Node& node) {
  PANTOUM_ASSIGN(std::vector<ValueId> parts, read_parts(node));
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, node.output().shape.size(), 0));
  return node.set(0, joined(node, std::move(parts), axis));
}

Result<void> lower_stack(Node& node) {
  PANTOUM_ASSIGN(std::vector<ValueId> parts, read_parts(node));
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, node.output().shape.size(), 0));
  Shape shape = node.output().shape;
  if (shape.empty()) return fail("E0211", "its result has no dimensions");
  shape[static_cast<size_t>(axis)] = 1;
  for (ValueId& part : parts) {
    PANTOUM_ASSIGN(part, node.reshape(part, shape));
  }
  return node.set(0, joined(node, std::move(parts), axis));
}

// Pieces as they were captured, one behind the other.
Result<void> lower_split(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const size_t axis, node.axis({2, "dim"}, x, 0));
  const auto told = static_cast<int64_t>(axis);
  PANTOUM_ASSIGN(const std::vector<int64_t> sizes, node.integers({1, "split_size"}));
  std::vector<int64_t> extents = sizes;
  const int64_t extent = node.shape_of(x)[axis];
  if (sizes.size() == 1) {
    extents.clear();
    for (int64_t begin = 0; begin < extent; begin += sizes[0]) {
      if (sizes[0] < 1) return fail("E0211", "its parts have no elements");
      extents.push_back(std::min(sizes[0], extent - begin));
    }
  }
  if (std::any_of(extents.begin(), extents.end(), [](int64_t each) { return each < 1; }) ||
      std::accumulate(extents.begin(), extents.end(), int64_t{0}) != extent)
    return fail("E0211", "its parts do not fit");
  const bool all = [&] {
    for (size_t part = 0; part < extents.size(); ++part)
      if (!node.wants(part)) return false;
    return extents.size() > 1;
  }();
  if (all) {
    const std::vector<ValueId> parts = node.builder().split(node.label(), x, told, extents);
    for (size_t part = 0; part < parts.size(); ++part) PANTOUM_TRY(node.set(part, parts[part]));
    return {};
  }
  int64_t begin = 0;
  for (size_t part = 0; part < extents.size(); ++part) {
    if (node.wants(part)) {
      PANTOUM_ASSIGN(const ValueId made, piece(node, x, axis, begin, extents[part]));
      PANTOUM_TRY(node.set(part, made));
    }
    begin += extents[part];
  }
  return {};
}

Result<void> lower_unbind(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  for (size_t part = 0; part < node.output_count(); ++part) {
    if (!node.wants(part)) continue;
    PANTOUM_ASSIGN(ValueId made, piece(node, x, axis, static_cast<int64_t>(part), 1));
    PANTOUM_ASSIGN(made, node.reshape(made, node.output(part).shape));
    PANTOUM_TRY(node.set(part, made));
  }
  return {};
}

Result<void> lower_flip(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const std::vector<int64_t> axes, node.dimensions({1, "dims"}, node.shape_of(x).size()));
  for (const int64_t axis : axes) {
    if (node.shape_of(x).empty()) break;
    const auto at = static_cast<size_t>(axis);
    const int64_t extent = node.shape_of(x)[at];
    PANTOUM_ASSIGN(x, piece(node, x, at, extent - 1, extent, -1));
  }
  return node.set(0, x);
}

Result<ValueId> rolled(Node& node, ValueId x, size_t axis, int64_t shift) {
  const int64_t extent = node.shape_of(x)[axis], by = ((shift % extent) + extent) % extent;
  if (by == 0) return x;
  PANTOUM_ASSIGN(const ValueId end, piece(node, x, axis, extent - by, by));
  PANTOUM_ASSIGN(const ValueId begin, piece(node, x, axis, 0, extent - by));
  return joined(node, {end, begin}, static_cast<int64_t>(axis));
}

Result<void> lower_roll(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const std::vector<int64_t> shifts, node.integers({1, "shifts"}));
  PANTOUM_ASSIGN(std::vector<int64_t> axes, node.integers({2, "dims"}));
  const Shape shape = node.shape_of(x);
  if (axes.empty()) {
    PANTOUM_ASSIGN(x, node.reshape(x, {node.type_of(x).elements()}));
    axes = {0};
  }
  if (axes.size() != shifts.size()) return fail("E0211", "it has not as many shifts as dimensions");
  for (size_t each = 0; each < axes.size(); ++each) {
    const auto rank = static_cast<int64_t>(node.shape_of(x).size());
    const int64_t axis = axes[each] < 0 ? axes[each] + rank : axes[each];
    if (axis < 0 || axis >= rank) return fail("E0211", "it rolls a dimension that there is not");
    PANTOUM_ASSIGN(x, rolled(node, x, static_cast<size_t>(axis), shifts[each]));
  }
  return node.set(node.reshape(x, shape));
}

// Every dimension as [times, extent]: spread, then read as one.
Result<void> lower_repeat(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const std::vector<int64_t> times, node.integers({1, "repeats"}));
  Shape shape = node.shape_of(x);
  if (times.size() < shape.size()) return fail("E0211", "it repeats fewer dimensions than there are");
  shape.insert(shape.begin(), times.size() - shape.size(), 1);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (times[d] == 1) continue;
    Shape apart = shape, wide = shape, flat = shape;
    apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(d), 1);
    wide.insert(wide.begin() + static_cast<std::ptrdiff_t>(d), times[d]);
    flat[d] *= times[d];
    // Dimensions before and behind are one each: the ranks stay small.
    const auto product = [&](size_t from, size_t to) {
      int64_t all = 1;
      for (size_t each = from; each < to; ++each) all *= shape[each];
      return all;
    };
    const int64_t before = product(0, d), behind = product(d, shape.size());
    PANTOUM_ASSIGN(x, node.reshape(x, {before, 1, behind}));
    PANTOUM_ASSIGN(x, node.expand(x, {before, times[d], behind}));
    shape = flat;
  }
  return node.set(node.reshape(x, shape));
}

// Pairs of the last dimension, the one before it, ...
Result<void> lower_pad(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const std::vector<int64_t> pads, node.integers({1, "pad"}));
  PANTOUM_ASSIGN(const double value, node.number({2, "value"}, 0));
  const size_t rank = node.shape_of(x).size();
  if (pads.size() % 2 != 0 || pads.size() / 2 > rank) return fail("E0211", "its padding does not fit");
  if (value == 0 && ir::is_float(node.type_of(x).dtype) &&
      std::all_of(pads.begin(), pads.end(), [](int64_t p) { return p >= 0; })) {
    std::vector<int64_t> places(2 * rank);
    ir::TensorType type = node.type_of(x);
    for (size_t d = 0; d < rank; ++d) places[2 * d + 1] = 1;
    for (size_t pair = 0; pair < pads.size() / 2; ++pair) {
      const size_t d = rank - 1 - pair;
      places[2 * d] = pads[2 * pair];
      type.shape[d] += pads[2 * pair] + pads[2 * pair + 1];
    }
    if (type.shape == node.shape_of(x)) return node.set(0, x);
    return node.set(node.op(Kind::k_slice_grad, {x}, {std::move(places), {}}, {type}));
  }
  for (size_t pair = 0; pair < pads.size() / 2; ++pair) {
    PANTOUM_ASSIGN(x, padded(node, x, rank - 1 - pair, pads[2 * pair], pads[2 * pair + 1], value));
  }
  return node.set(0, x);
}

// Windows of `size` along a dimension, every `step`: gathered, the window last.
Result<void> lower_unfold(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  const Shape shape = node.shape_of(x);
  PANTOUM_ASSIGN(const int64_t told, node.dimension({1, "dimension"}, shape.size(), 0));
  PANTOUM_ASSIGN(const int64_t size, node.integer({2, "size"}));
  PANTOUM_ASSIGN(const int64_t step, node.integer({3, "step"}));
  const auto axis = static_cast<size_t>(told);
  if (shape.empty() || step < 1 || size < 1 || size > shape[axis]) return fail("E0211", "its windows do not fit");
  const int64_t count = (shape[axis] - size) / step + 1;
  std::vector<int64_t> index;
  for (int64_t window = 0; window < count; ++window)
    for (int64_t place = 0; place < size; ++place) index.push_back(window * step + place);
  PANTOUM_ASSIGN(x, node.op(Kind::k_gather, {x, node.whole_constant(DType::kI64, {count, size}, index)}, {{told}, {}}));
  std::vector<int64_t> perm;
  for (size_t d = 0; d <= shape.size(); ++d)
    if (d != axis + 1) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(told + 1);
  return node.set(node.transpose(x, perm));
}

// 1 on and below (above) a diagonal, else 0.
template <bool kLower>
Result<void> lower_triangle(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const int64_t diagonal, node.integer({1, "diagonal"}, 0));
  const Shape shape = node.shape_of(x);
  if (shape.size() < 2) return fail("E0211", "it has no rows and columns");
  const int64_t rows = shape[shape.size() - 2], columns = shape.back();
  std::vector<int64_t> row(static_cast<size_t>(rows)), column(static_cast<size_t>(columns));
  std::iota(row.begin(), row.end(), diagonal);
  std::iota(column.begin(), column.end(), 0);
  const ValueId at_row = node.whole_constant(DType::kI64, {rows, 1}, row),
                at_column = node.whole_constant(DType::kI64, {1, columns}, column);
  PANTOUM_ASSIGN(const ValueId stays, node.op(Kind::k_compare, {at_column, at_row},
                                              {{kLower ? PT_COMPARE_LESS_EQUAL : PT_COMPARE_GREATER_EQUAL}, {}}));
  const ValueId zero = node.whole_constant(node.type_of(x).dtype, {}, {0});
  return node.set(node.op(Kind::k_where, {stays, x, zero}));
}

// Elements of the diagonal of two dimensions, which becomes the last one.
Result<void> lower_diagonal(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  Shape shape = node.shape_of(x);
  const size_t rank = shape.size();
  PANTOUM_ASSIGN(const int64_t offset, node.integer({1, "offset"}, 0));
  PANTOUM_ASSIGN(const int64_t a, node.dimension({2, "dim1"}, rank, 0));
  PANTOUM_ASSIGN(const int64_t b, node.dimension({3, "dim2"}, rank, 1));
  if (rank < 2 || a == b) return fail("E0211", "it has no two dimensions");
  std::vector<int64_t> perm;
  for (size_t d = 0; d < rank; ++d)
    if (static_cast<int64_t>(d) != a && static_cast<int64_t>(d) != b) perm.push_back(static_cast<int64_t>(d));
  perm.push_back(a), perm.push_back(b);
  PANTOUM_ASSIGN(x, node.transpose(x, perm));
  shape = node.shape_of(x);
  const int64_t rows = shape[rank - 2], columns = shape[rank - 1];
  std::vector<int64_t> places;
  for (int64_t row = 0; row < rows; ++row)
    if (row + offset >= 0 && row + offset < columns) places.push_back(row * columns + row + offset);
  Shape flat(shape.begin(), shape.end() - 2);
  const auto axis = static_cast<int64_t>(flat.size());
  flat.push_back(rows * columns);
  PANTOUM_ASSIGN(x, node.reshape(x, flat));
  const auto count = static_cast<int64_t>(places.size());
  return node.set(node.op(Kind::k_gather, {x, node.whole_constant(DType::kI64, {count}, places)}, {{axis}, {}}));
}

constexpr std::array kMove = {OperatorEntry{"slice.Tensor", lower_slice},
                              OperatorEntry{"slice_copy.Tensor", lower_slice},
                              OperatorEntry{"select.int", lower_select},
                              OperatorEntry{"select_copy.int", lower_select},
                              OperatorEntry{"narrow.default", lower_narrow},
                              OperatorEntry{"slice_scatter.default", lower_slice_scatter},
                              OperatorEntry{"select_scatter.default", lower_select_scatter},
                              OperatorEntry{"cat.default", lower_cat},
                              OperatorEntry{"stack.default", lower_stack},
                              OperatorEntry{"split.Tensor", lower_split},
                              OperatorEntry{"split_copy.Tensor", lower_split},
                              OperatorEntry{"split_with_sizes.default", lower_split},
                              OperatorEntry{"split_with_sizes_copy.default", lower_split},
                              OperatorEntry{"unbind.int", lower_unbind},
                              OperatorEntry{"unbind_copy.int", lower_unbind},
                              OperatorEntry{"flip.default", lower_flip},
                              OperatorEntry{"roll.default", lower_roll},
                              OperatorEntry{"repeat.default", lower_repeat},
                              OperatorEntry{"constant_pad_nd.default", lower_pad},
                              OperatorEntry{"unfold.default", lower_unfold},
                              OperatorEntry{"unfold_copy.default", lower_unfold},
                              OperatorEntry{"tril.default", lower_triangle<true>},
                              OperatorEntry{"triu.default", lower_triangle<false>},
                              OperatorEntry{"diagonal.default", lower_diagonal},
                              OperatorEntry{"diagonal_copy.default", lower_diagonal}};

}  // namespace

std::span<const OperatorEntry> move_operators() {
  return kMove;
}

}  // namespace pantoum::aten
