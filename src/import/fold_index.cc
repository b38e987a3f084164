// Folding of operators that scatter, count or find elements.
#include <fmt/format.h>

#include <array>

#include "import/fold.h"
#include "import/shapes.h"
#include "kernels/portable/pt_integer.h"

namespace pantoum::import {
namespace {

using ir::Shape;

Result<int64_t> within(int64_t index, int64_t extent) {
  const int64_t at = index < 0 ? index + extent : index;
  if (at < 0 || at >= extent) return fail("E0211", "a constant index is out of range");
  return at;
}

double joined_real(const std::string& reduction, double old, double update) {
  if (reduction == "add") return old + update;
  if (reduction == "mul") return old * update;
  if (reduction == "max") return update > old || update != update ? update : old;
  if (reduction == "min") return update < old || update != update ? update : old;
  return update;
}

int64_t joined_whole(const std::string& reduction, int64_t old, int64_t update) {
  if (reduction == "add") return pt_whole_add(old, update);
  if (reduction == "mul") return pt_whole_mul(old, update);
  if (reduction == "max") return std::max(old, update);
  if (reduction == "min") return std::min(old, update);
  return update;
}

void join_element(Numbers& y, int64_t at, const Numbers& updates, size_t from, const std::string& reduction) {
  const auto to = static_cast<size_t>(at);
  if (y.is_real()) {
    const double made = joined_real(reduction, y.reals[to], updates.reals[from]);
    y.reals[to] = y.dtype == ir::DType::kF32 ? static_cast<double>(static_cast<float>(made)) : made;
  } else {
    y.ints[to] = joined_whole(reduction, y.ints[to], updates.ints[from]);
  }
}

Result<std::string> folded_reduction(const FoldCall& call) {
  const std::string name = Attributes(call.node).text("reduction", "none");
  for (const char* known : {"none", "add", "mul", "max", "min"}) {
    if (name == known) return name;
  }
  return fail("E0211", fmt::format("its reduction is '{}'", name));
}

Result<void> check_scattered(const FoldCall& call, const Shape& wanted) {
  const Numbers &data = *call.inputs[0], &updates = *call.inputs[2];
  if (updates.shape != wanted || updates.dtype != data.dtype) return fail("E0211", "its updates do not fit");
  PANTOUM_TRY(check_folded_size(call, data.shape));
  return {};
}

Result<Numbers> fold_scatter_elements(const FoldCall& call) {
  Numbers y = *call.inputs[0];
  const Shape extents = call.inputs[1]->shape;
  PANTOUM_ASSIGN(const std::string reduction, folded_reduction(call));
  PANTOUM_ASSIGN(const std::vector<int64_t> indices, want_ints(*call.inputs[1]));
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(Attributes(call.node).integer("axis", 0), y.shape.size()));
  if (extents.size() != y.shape.size()) return fail("E0211", "its indices have another rank than its input");
  PANTOUM_TRY(check_scattered(call, extents));
  for (size_t element = 0; element < indices.size(); ++element) {
    int64_t rest = static_cast<int64_t>(element), to = 0, step = 1;
    for (size_t d = extents.size(); d-- > 0;) {
      const int64_t own = static_cast<int64_t>(d) == axis ? indices[element] : rest % extents[d];
      PANTOUM_ASSIGN(const int64_t at, within(own, y.shape[d]));
      to += at * step;
      step *= y.shape[d];
      rest /= extents[d];
    }
    join_element(y, to, *call.inputs[2], element, reduction);
  }
  return y;
}

Result<Numbers> fold_scatter_nd(const FoldCall& call) {
  Numbers y = *call.inputs[0];
  const Shape tuples = call.inputs[1]->shape;
  PANTOUM_ASSIGN(const std::string reduction, folded_reduction(call));
  PANTOUM_ASSIGN(const std::vector<int64_t> indices, want_ints(*call.inputs[1]));
  const int64_t depth = tuples.empty() ? 0 : tuples.back(), rank = static_cast<int64_t>(y.shape.size());
  if (depth < 1 || depth > rank) return fail("E0211", "its indices do not fit its input");
  Shape wanted(tuples.begin(), tuples.end() - 1);
  wanted.insert(wanted.end(), y.shape.begin() + depth, y.shape.end());
  PANTOUM_TRY(check_scattered(call, wanted));
  int64_t inner = 1;
  for (auto d = static_cast<size_t>(depth); d < y.shape.size(); ++d) inner *= y.shape[d];
  for (size_t first = 0; first < indices.size(); first += static_cast<size_t>(depth)) {
    int64_t row = 0;
    for (size_t d = 0; d < static_cast<size_t>(depth); ++d) {
      PANTOUM_ASSIGN(const int64_t at, within(indices[first + d], y.shape[d]));
      row = row * y.shape[d] + at;
    }
    const auto from = first / static_cast<size_t>(depth) * static_cast<size_t>(inner);
    for (int64_t element = 0; element < inner; ++element) {
      join_element(y, row * inner + element, *call.inputs[2], from + static_cast<size_t>(element), reduction);
    }
  }
  return y;
}

Result<Numbers> fold_gather_elements(const FoldCall& call) {
  const Numbers& data = *call.inputs[0];
  const Shape extents = call.inputs[1]->shape;
  PANTOUM_ASSIGN(const std::vector<int64_t> indices, want_ints(*call.inputs[1]));
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(Attributes(call.node).integer("axis", 0), data.shape.size()));
  if (extents.size() != data.shape.size()) return fail("E0211", "its indices have another rank than its input");
  std::vector<size_t> sources;
  for (size_t element = 0; element < indices.size(); ++element) {
    int64_t rest = static_cast<int64_t>(element), from = 0, step = 1;
    for (size_t d = extents.size(); d-- > 0;) {
      const int64_t own = static_cast<int64_t>(d) == axis ? indices[element] : rest % extents[d];
      PANTOUM_ASSIGN(const int64_t at, within(own, data.shape[d]));
      from += at * step;
      step *= data.shape[d];
      rest /= extents[d];
    }
    sources.push_back(static_cast<size_t>(from));
  }
  return pick(data, extents, sources);
}

bool is_zero(const Numbers& x, size_t element) {
  return x.is_real() ? x.reals[element] == 0 : x.ints[element] == 0;
}

// The places of what is not 0, one column each; of a scalar they have no coordinates.
Result<Numbers> fold_non_zero(const FoldCall& call) {
  const Numbers& x = *call.inputs[0];
  const size_t rank = x.shape.size();
  std::vector<size_t> found;
  for (size_t element = 0; element < x.size(); ++element) {
    if (!is_zero(x, element)) found.push_back(element);
  }
  Numbers result{ir::DType::kI64, {static_cast<int64_t>(rank), static_cast<int64_t>(found.size())}, {}, {}};
  PANTOUM_TRY(check_folded_size(call, result.shape));
  result.ints.resize(rank * found.size());
  for (size_t column = 0; column < found.size(); ++column) {
    size_t rest = found[column];
    for (size_t d = rank; d-- > 0;) {
      result.ints[d * found.size() + column] = static_cast<int64_t>(rest % static_cast<size_t>(x.shape[d]));
      rest /= static_cast<size_t>(x.shape[d]);
    }
  }
  return result;
}

Result<Numbers> fold_one_hot(const FoldCall& call) {
  const Numbers &indices = *call.inputs[0], &told = *call.inputs[1], &values = *call.inputs[2];
  if (told.size() != 1 || values.size() != 2) return fail("E0211", "its depth or values are not as OneHot has them");
  const double wanted = told.real(0);
  if (!(wanted >= 1 && wanted <= INT32_MAX)) return fail("E0211", "its depth is out of range");
  const auto depth = static_cast<int64_t>(wanted);
  PANTOUM_ASSIGN(const int64_t axis,
                 normalize_axis(Attributes(call.node).integer("axis", -1), indices.shape.size() + 1));
  Shape shape = indices.shape;
  shape.insert(shape.begin() + axis, depth);
  PANTOUM_ASSIGN(const int64_t count, check_folded_size(call, shape));
  int64_t inner = 1;
  for (auto d = static_cast<size_t>(axis) + 1; d < shape.size(); ++d) inner *= shape[d];
  std::vector<size_t> sources;
  for (int64_t element = 0; element < count; ++element) {
    const auto from = static_cast<size_t>(element / inner / depth * inner + element % inner);
    const int64_t named = indices.is_real() ? whole_within(ir::DType::kI64, indices.reals[from]) : indices.ints[from];
    sources.push_back((named < 0 ? named + depth : named) == element / inner % depth ? 1 : 0);
  }
  return pick(values, shape, sources);
}

constexpr std::array kIndexFolders = {
    FolderEntry{"ScatterElements", 3, fold_scatter_elements},
    FolderEntry{"ScatterND", 3, fold_scatter_nd},
    FolderEntry{"GatherElements", 2, fold_gather_elements},
    FolderEntry{"NonZero", 1, fold_non_zero},
    FolderEntry{"OneHot", 3, fold_one_hot},
};

}  // namespace

std::span<const FolderEntry> index_folders() {
  return kIndexFolders;
}

}  // namespace pantoum::import
