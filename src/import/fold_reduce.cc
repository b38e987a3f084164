// Folding of reductions and of what runs along one axis.
#include <algorithm>
#include <array>
#include <cmath>

#include "import/fold.h"
#include "import/shapes.h"
#include "kernels/portable/pt_integer.h"

namespace pantoum::import {
namespace {

using ir::DType;
using ir::Shape;

// Where the elements of a constant go when dimensions are reduced.
struct Reduced {
  Shape shape;                // of the result
  std::vector<size_t> slots;  // by element: which of the result's elements it is part of
  size_t outputs = 1, count = 1;
};

Result<Reduced> reduced_slots(const FoldCall& call) {
  const Shape& from = call.inputs[0]->shape;
  Attributes attributes(call.node);
  PANTOUM_ASSIGN(const std::optional<std::vector<int64_t>> told, folded_axes(call));
  PANTOUM_ASSIGN(const std::vector<int64_t> axes, normalize_axes(told.value_or(std::vector<int64_t>{}), from.size()));
  const bool all = axes.empty() && attributes.integer("noop_with_empty_axes", 0) == 0;
  const bool keep = attributes.integer("keepdims", 1) != 0;
  Reduced reduced;
  Shape kept = from;
  for (size_t d = 0; d < from.size(); ++d) {
    const bool summed = all || std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    if (summed) kept[d] = 1;
    (summed ? reduced.count : reduced.outputs) *= static_cast<size_t>(from[d]);
    if (!summed || keep) reduced.shape.push_back(kept[d]);
  }
  reduced.slots = broadcast_sources(kept, from);
  return reduced;
}

template <class Ints, class Reals>
Result<Numbers> fold_reduction(const FoldCall& call, int64_t start, Ints on_ints, Reals on_reals) {
  const Numbers& data = *call.inputs[0];
  PANTOUM_ASSIGN(const Reduced reduced, reduced_slots(call));
  Numbers result{data.dtype, reduced.shape, {}, {}};
  if (data.is_real()) {
    result.reals.assign(reduced.outputs, static_cast<double>(start));
    for (size_t at = 0; at < data.size(); ++at)
      result.reals[reduced.slots[at]] = on_reals(result.reals[reduced.slots[at]], data.reals[at]);
  } else {
    result.ints.assign(reduced.outputs, start);
    for (size_t at = 0; at < data.size(); ++at)
      result.ints[reduced.slots[at]] = on_ints(result.ints[reduced.slots[at]], data.ints[at]);
  }
  return result;
}

Result<Numbers> fold_reduce_sum(const FoldCall& call) {
  return fold_reduction(call, 0, pt_whole_add, [](double sum, double value) { return sum + value; });
}
Result<Numbers> fold_reduce_prod(const FoldCall& call) {
  return fold_reduction(call, 1, pt_whole_mul, [](double product, double value) { return product * value; });
}

Result<Numbers> fold_reduce_mean(const FoldCall& call) {
  PANTOUM_ASSIGN(const Reduced reduced, reduced_slots(call));
  PANTOUM_ASSIGN(Numbers mean, fold_reduce_sum(call));
  for (int64_t& sum : mean.ints) sum = pt_whole_div(sum, static_cast<int64_t>(reduced.count));
  for (double& sum : mean.reals) sum /= static_cast<double>(reduced.count);
  return mean;
}

// Every element of the result begins as the first of its part, and the better of each pair stays.
template <bool kMaximum>
Result<Numbers> fold_reduce_extreme(const FoldCall& call) {
  const Numbers& data = *call.inputs[0];
  PANTOUM_ASSIGN(const Reduced reduced, reduced_slots(call));
  if (reduced.count == 0) return fail("E0211", "nothing has no extreme");
  std::vector<size_t> best(reduced.outputs, data.size());
  const auto beats = [](auto a, auto b) { return kMaximum ? a > b : a < b; };
  for (size_t at = 0; at < data.size(); ++at) {
    size_t& held = best[reduced.slots[at]];
    const bool first = held == data.size();
    const bool better =
        !first && (data.is_real() ? beats(data.reals[at], data.reals[held]) || std::isnan(data.reals[at])
                                  : beats(data.ints[at], data.ints[held]));
    if (first || better) held = at;
  }
  return pick(data, reduced.shape, best);
}

// One axis: `extent` elements that lie `inner` apart.
struct Line {
  size_t extent = 1, inner = 1;
  [[nodiscard]] size_t first(size_t line) const { return line / inner * extent * inner + line % inner; }
};

Line line_along(const Shape& shape, size_t axis) {
  Line line{static_cast<size_t>(shape[axis]), 1};
  for (size_t d = axis + 1; d < shape.size(); ++d) line.inner *= static_cast<size_t>(shape[d]);
  return line;
}

Result<Numbers> fold_cumsum(const FoldCall& call) {
  const Numbers& data = *call.inputs[0];
  PANTOUM_ASSIGN(const std::vector<int64_t> told, want_ints(*call.inputs[1]));
  if (told.size() != 1) return fail("E0211", "its axis is not one number");
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(told[0], data.shape.size()));
  const bool exclusive = Attributes(call.node).integer("exclusive", 0) != 0;
  const bool reverse = Attributes(call.node).integer("reverse", 0) != 0;
  const Line line = line_along(data.shape, static_cast<size_t>(axis));
  Numbers sums = data;
  for (size_t row = 0; data.size() > 0 && row < data.size() / line.extent; ++row) {
    int64_t whole = 0;
    double real = 0;
    for (size_t step = 0; step < line.extent; ++step) {
      const size_t at = line.first(row) + (reverse ? line.extent - 1 - step : step) * line.inner;
      if (data.is_real()) {
        if (exclusive) sums.reals[at] = real;
        real += data.reals[at];
        if (!exclusive) sums.reals[at] = real;
      } else {
        if (exclusive) sums.ints[at] = whole;
        whole = pt_whole_add(whole, data.ints[at]);
        if (!exclusive) sums.ints[at] = whole;
      }
    }
  }
  return sums;
}

// Where the first of the best elements along the axis is, or the last; a NaN is the best.
template <bool kMaximum>
Result<Numbers> fold_arg(const FoldCall& call) {
  const Numbers& data = *call.inputs[0];
  Attributes attributes(call.node);
  const bool last = attributes.integer("select_last_index", 0) != 0;
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(attributes.integer("axis", 0), data.shape.size()));
  if (data.size() == 0) return fail("E0211", "nothing has no extreme");
  const Line line = line_along(data.shape, static_cast<size_t>(axis));
  Numbers found{DType::kI64, data.shape, {}, {}};
  found.shape[static_cast<size_t>(axis)] = 1;
  if (attributes.integer("keepdims", 1) == 0) found.shape.erase(found.shape.begin() + axis);
  const auto beats = [last](auto a, auto b) {
    if (last && (a == b || (a != a && b != b))) return true;
    return (kMaximum ? a > b : a < b) || (a != a && b == b);
  };
  for (size_t row = 0; row < data.size() / line.extent; ++row) {
    size_t best = 0;
    for (size_t at = 1; at < line.extent; ++at) {
      const size_t here = line.first(row) + at * line.inner, held = line.first(row) + best * line.inner;
      const bool better =
          data.is_real() ? beats(data.reals[here], data.reals[held]) : beats(data.ints[here], data.ints[held]);
      if (better) best = at;
    }
    found.ints.push_back(static_cast<int64_t>(best));
  }
  return found;
}

// why: one row per operator, and nothing that two tables could share.
constexpr std::array kReduceFolders = {
    FolderEntry{"ReduceSum", 1, fold_reduce_sum},
    FolderEntry{"ReduceProd", 1, fold_reduce_prod},
    FolderEntry{"ReduceMean", 1, fold_reduce_mean},
    FolderEntry{"ReduceMax", 1, fold_reduce_extreme<true>},
    FolderEntry{"ReduceMin", 1, fold_reduce_extreme<false>},
    FolderEntry{"CumSum", 2, fold_cumsum},
    FolderEntry{"ArgMax", 1, fold_arg<true>},
    FolderEntry{"ArgMin", 1, fold_arg<false>},
};

}  // namespace

std::span<const FolderEntry> reduce_folders() {
  return kReduceFolders;
}

}  // namespace pantoum::import
