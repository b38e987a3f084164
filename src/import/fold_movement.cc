// Folding of operators that move elements, or make them from a shape.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "import/fold.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Shape;

Result<Numbers> with_shape(const Numbers& from, Result<Shape> shape) {
  if (!shape) return Failure(std::move(shape).error());
  Numbers result = from;
  result.shape = std::move(*shape);
  return result;
}

Result<Numbers> fold_reshape(const FoldCall& call) {
  PANTOUM_ASSIGN(const std::vector<int64_t> wanted, want_ints(*call.inputs[1]));
  const bool allow_zero = Attributes(call.node).integer("allowzero", 0) != 0;
  return with_shape(*call.inputs[0], resolve_reshape(call.inputs[0]->shape, wanted, allow_zero));
}

Result<Numbers> fold_squeeze(const FoldCall& call) {
  PANTOUM_ASSIGN(const std::optional<std::vector<int64_t>> axes, folded_axes(call));
  return with_shape(*call.inputs[0], squeezed(call.inputs[0]->shape, axes));
}

Result<Numbers> fold_unsqueeze(const FoldCall& call) {
  PANTOUM_ASSIGN(const std::optional<std::vector<int64_t>> axes, folded_axes(call));
  if (!axes) return fail("E0211", "it names no axes");
  return with_shape(*call.inputs[0], unsqueezed(call.inputs[0]->shape, *axes));
}

// Row-major strides; a dimension of extent 0 makes them meaningless, and the tensor empty.
std::vector<size_t> strides_of(const Shape& shape) {
  std::vector<size_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * static_cast<size_t>(shape[d]);
  return strides;
}

// The product of the extents in [begin, end).
size_t extent_product(const Shape& shape, size_t begin, size_t end) {
  size_t product = 1;
  for (size_t d = begin; d < end; ++d) product *= static_cast<size_t>(shape[d]);
  return product;
}

Result<Numbers> fold_gather(const FoldCall& call) {
  const Numbers& data = *call.inputs[0];
  PANTOUM_ASSIGN(const std::vector<int64_t> indices, want_ints(*call.inputs[1]));
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(Attributes(call.node).integer("axis", 0), data.shape.size()));
  const auto along = static_cast<size_t>(axis);
  Shape shape(data.shape.begin(), data.shape.begin() + axis);
  shape.insert(shape.end(), call.inputs[1]->shape.begin(), call.inputs[1]->shape.end());
  shape.insert(shape.end(), data.shape.begin() + axis + 1, data.shape.end());
  PANTOUM_TRY(check_folded_size(call, shape));
  const size_t outer = extent_product(data.shape, 0, along), extent = static_cast<size_t>(data.shape[along]);
  const size_t inner = extent_product(data.shape, along + 1, data.shape.size());
  std::vector<size_t> sources;
  for (size_t row = 0; row < outer && inner > 0; ++row) {
    for (const int64_t index : indices) {
      const int64_t at = index < 0 ? index + static_cast<int64_t>(extent) : index;
      if (at < 0 || at >= static_cast<int64_t>(extent)) return fail("E0211", "a constant index is out of range");
      const size_t first = (row * extent + static_cast<size_t>(at)) * inner;
      for (size_t element = 0; element < inner; ++element) sources.push_back(first + element);
    }
  }
  return pick(data, shape, sources);
}

Result<size_t> position_along(int64_t index, int64_t extent) {
  const int64_t at = index < 0 ? index + extent : index;
  if (at < 0 || at >= extent) return fail("E0211", "a constant index is out of range");
  return static_cast<size_t>(at);
}

// Tuples of indices into the dimensions after the first `batch_dims`, which data and indices have in common.
Result<Numbers> fold_gather_nd(const FoldCall& call) {
  const Numbers &data = *call.inputs[0], &tuples = *call.inputs[1];
  PANTOUM_ASSIGN(const std::vector<int64_t> indices, want_ints(tuples));
  const int64_t batch = Attributes(call.node).integer("batch_dims", 0), rank = static_cast<int64_t>(data.shape.size());
  const int64_t depth = tuples.shape.empty() ? 0 : tuples.shape.back();
  const bool fits = batch >= 0 && batch < static_cast<int64_t>(tuples.shape.size()) && depth >= 1 && batch <= rank &&
                    depth <= rank - batch &&
                    std::equal(data.shape.begin(), data.shape.begin() + batch, tuples.shape.begin());
  if (!fits) return fail("E0211", "its indices do not fit its input");
  Shape shape(tuples.shape.begin(), tuples.shape.end() - 1);
  shape.insert(shape.end(), data.shape.begin() + batch + depth, data.shape.end());
  PANTOUM_TRY(check_folded_size(call, shape));
  const std::vector<size_t> strides = strides_of(data.shape);
  const auto first = static_cast<size_t>(batch), each = static_cast<size_t>(depth);
  const size_t samples = extent_product(data.shape, 0, first),
               inner = extent_product(data.shape, first + each, data.shape.size());
  const size_t count = indices.size() / each, sample_size = extent_product(data.shape, first, data.shape.size());
  std::vector<size_t> sources;
  for (size_t tuple = 0; tuple < count && inner > 0; ++tuple) {
    size_t at = tuple / (count / samples) * sample_size;
    for (size_t d = 0; d < each; ++d) {
      PANTOUM_ASSIGN(const size_t index, position_along(indices[tuple * each + d], data.shape[first + d]));
      at += index * strides[first + d];
    }
    for (size_t element = 0; element < inner; ++element) sources.push_back(at + element);
  }
  return pick(data, shape, sources);
}

Result<Numbers> fold_concat(const FoldCall& call) {
  const Numbers& first = *call.inputs[0];
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(Attributes(call.node).integer("axis", 0), first.shape.size()));
  const auto along = static_cast<size_t>(axis);
  Numbers result{first.dtype, first.shape, {}, {}};
  result.shape[along] = 0;
  for (const Numbers* part : call.inputs) {
    if (part == nullptr) return fail("E0211", "an input is missing");
    Shape expected = part->shape;
    if (expected.size() == result.shape.size()) expected[along] = result.shape[along];
    if (part->dtype != first.dtype || expected != result.shape)
      return fail("E0211", "constants differ in type or shape");
    result.shape[along] += part->shape[along];
    PANTOUM_TRY(check_folded_size(call, result.shape));
  }
  const size_t outer = extent_product(first.shape, 0, along);
  for (size_t row = 0; row < outer; ++row) {
    for (const Numbers* part : call.inputs) {
      const auto piece = static_cast<std::ptrdiff_t>(extent_product(part->shape, along, part->shape.size()));
      const auto begin = static_cast<std::ptrdiff_t>(row) * piece;
      if (first.is_real()) {
        result.reals.insert(result.reals.end(), part->reals.begin() + begin, part->reals.begin() + begin + piece);
      } else {
        result.ints.insert(result.ints.end(), part->ints.begin() + begin, part->ints.begin() + begin + piece);
      }
    }
  }
  return result;
}

// Reads `shape.size()`-dimensional positions through per-dimension starts and strides.
std::vector<size_t> walk(const Shape& shape, std::ptrdiff_t first, const std::vector<std::ptrdiff_t>& strides) {
  std::vector<size_t> sources;
  std::vector<int64_t> at(shape.size(), 0);
  const auto count = static_cast<size_t>(count_elements(shape).value_or(0));
  std::ptrdiff_t source = first;
  for (size_t element = 0; element < count; ++element) {
    sources.push_back(static_cast<size_t>(source));
    for (size_t d = shape.size(); d-- > 0;) {
      source += strides[d];
      if (++at[d] < shape[d]) break;
      source -= strides[d] * shape[d];
      at[d] = 0;
    }
  }
  return sources;
}

Result<Numbers> fold_slice(const FoldCall& call) {
  const Numbers& data = *call.inputs[0];
  std::array<std::vector<int64_t>, 4> lists;  // starts, ends, axes, steps
  for (size_t list = 0; list < lists.size(); ++list) {
    const size_t input = list + 1;
    if (input >= call.inputs.size() || call.inputs[input] == nullptr) continue;
    PANTOUM_ASSIGN(lists[list], want_ints(*call.inputs[input]));
  }
  PANTOUM_ASSIGN(const std::vector<SlicePiece> pieces,
                 slice_pieces(data.shape, lists[0], lists[1], lists[2], lists[3]));
  const std::vector<size_t> strides = strides_of(data.shape);
  Shape shape;
  std::vector<std::ptrdiff_t> steps;
  std::ptrdiff_t first = 0;
  for (size_t d = 0; d < pieces.size(); ++d) {
    shape.push_back(pieces[d].count);
    first += pieces[d].start * static_cast<std::ptrdiff_t>(strides[d]);
    steps.push_back(pieces[d].step * static_cast<std::ptrdiff_t>(strides[d]));
  }
  return pick(data, shape, walk(shape, first, steps));
}

Result<Numbers> fold_transpose(const FoldCall& call) {
  const Numbers& data = *call.inputs[0];
  const size_t rank = data.shape.size();
  std::vector<int64_t> perm(rank);
  for (size_t d = 0; d < rank; ++d) perm[d] = static_cast<int64_t>(rank - 1 - d);
  perm = Attributes(call.node).integers("perm").value_or(perm);
  if (perm.size() != rank) return fail("E0211", "the permutation has another number of dimensions");
  PANTOUM_TRY(normalize_axes(perm, rank));
  const std::vector<size_t> strides = strides_of(data.shape);
  Shape shape;
  std::vector<std::ptrdiff_t> steps;
  for (const int64_t from : perm) {
    if (from < 0) return fail("E0211", "the permutation names a negative dimension");
    shape.push_back(data.shape[static_cast<size_t>(from)]);
    steps.push_back(static_cast<std::ptrdiff_t>(strides[static_cast<size_t>(from)]));
  }
  return pick(data, shape, walk(shape, 0, steps));
}

Result<Numbers> fold_expand(const FoldCall& call) {
  PANTOUM_ASSIGN(const Shape wanted, want_ints(*call.inputs[1]));
  PANTOUM_TRY(check_folded_size(call, wanted));
  const std::optional<Shape> shape = broadcast_shapes(call.inputs[0]->shape, wanted);
  if (!shape) return fail("E0211", "a constant does not broadcast to the shape");
  PANTOUM_TRY(check_folded_size(call, *shape));
  return pick(*call.inputs[0], *shape, broadcast_sources(call.inputs[0]->shape, *shape));
}

Result<Numbers> fold_constant_of_shape(const FoldCall& call) {
  PANTOUM_ASSIGN(const Shape shape, want_ints(*call.inputs[0]));
  PANTOUM_ASSIGN(const int64_t count, check_folded_size(call, shape));
  Numbers value{ir::DType::kF32, {}, {}, {0}};
  if (const onnx::TensorProto* given = Attributes(call.node).tensor("value")) {
    PANTOUM_ASSIGN(const Tensor tensor, read_constant(*given, "the value of ConstantOfShape"));
    value = to_numbers(tensor);
  }
  if (value.size() != 1) return fail("E0211", "the value of ConstantOfShape is not one element");
  return pick(value, shape, std::vector<size_t>(static_cast<size_t>(count), 0));
}

Result<Numbers> fold_range(const FoldCall& call) {
  const Numbers &start = *call.inputs[0], &limit = *call.inputs[1], &step = *call.inputs[2];
  if (start.size() != 1 || limit.size() != 1 || step.size() != 1 || step.real(0) == 0) {
    return fail("E0211", "the operands of Range are not scalars, or the step is 0");
  }
  if (start.dtype != limit.dtype || start.dtype != step.dtype) return fail("E0211", "constants differ in type");
  const double count = std::ceil((limit.real(0) - start.real(0)) / step.real(0));
  if (!(count <= static_cast<double>(call.most_elements))) return fail("E0401", "a Range is too large to be folded");
  Numbers result{start.dtype, {count > 0 ? static_cast<int64_t>(count) : 0}, {}, {}};
  for (int64_t element = 0; element < result.shape[0]; ++element) {
    if (start.is_real()) {
      result.reals.push_back(start.reals[0] + static_cast<double>(element) * step.reals[0]);
    } else {
      const uint64_t offset = static_cast<uint64_t>(element) * static_cast<uint64_t>(step.ints[0]);
      result.ints.push_back(static_cast<int64_t>(static_cast<uint64_t>(start.ints[0]) + offset));
    }
  }
  return result;
}

Result<Numbers> fold_trilu(const FoldCall& call) {
  Numbers result = *call.inputs[0];
  const size_t rank = result.shape.size();
  if (rank < 2) return fail("E0211", "the input of Trilu is no matrix");
  int64_t diagonal = 0;
  if (call.inputs.size() > 1 && call.inputs[1] != nullptr) {
    PANTOUM_ASSIGN(const std::vector<int64_t> told, want_ints(*call.inputs[1]));
    if (told.size() != 1) return fail("E0211", "the diagonal of Trilu is not one number");
    diagonal = std::clamp<int64_t>(told[0], -INT32_MAX, INT32_MAX);
  }
  const bool upper = Attributes(call.node).integer("upper", 1) != 0;
  const auto rows = static_cast<size_t>(result.shape[rank - 2]), columns = static_cast<size_t>(result.shape[rank - 1]);
  for (size_t element = 0; element < result.size(); ++element) {
    const int64_t across = static_cast<int64_t>(element % columns) - static_cast<int64_t>(element / columns % rows);
    if (upper ? across >= diagonal : across <= diagonal) continue;
    if (result.is_real()) {
      result.reals[element] = 0;
    } else {
      result.ints[element] = 0;
    }
  }
  return result;
}

Result<Numbers> fold_tile(const FoldCall& call) {
  const Numbers& data = *call.inputs[0];
  PANTOUM_ASSIGN(const std::vector<int64_t> repeats, want_ints(*call.inputs[1]));
  if (repeats.size() != data.shape.size()) return fail("E0211", "the repeats of Tile do not name every dimension");
  Shape shape = data.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (repeats[d] < 0 || repeats[d] > INT32_MAX || shape[d] > INT32_MAX) return fail("E0211", "a Tile is too large");
    shape[d] *= repeats[d];
  }
  PANTOUM_ASSIGN(const int64_t count, check_folded_size(call, shape));
  const std::vector<size_t> strides = strides_of(data.shape);
  std::vector<size_t> sources;
  for (int64_t element = 0; element < count; ++element) {
    int64_t rest = element;
    size_t source = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      source += static_cast<size_t>(rest % shape[d] % data.shape[d]) * strides[d];
      rest /= shape[d];
    }
    sources.push_back(source);
  }
  return pick(data, shape, sources);
}

// why: one row per operator, and nothing that two tables could share.
constexpr std::array kMovementFolders = {
    FolderEntry{"Reshape", 2, fold_reshape},     FolderEntry{"Squeeze", 1, fold_squeeze},
    FolderEntry{"Unsqueeze", 1, fold_unsqueeze}, FolderEntry{"Gather", 2, fold_gather},
    FolderEntry{"GatherND", 2, fold_gather_nd},  FolderEntry{"Concat", 1, fold_concat},
    FolderEntry{"Slice", 3, fold_slice},         FolderEntry{"Transpose", 1, fold_transpose},
    FolderEntry{"Expand", 2, fold_expand},       FolderEntry{"ConstantOfShape", 1, fold_constant_of_shape},
    FolderEntry{"Range", 3, fold_range},         FolderEntry{"Trilu", 1, fold_trilu},
    FolderEntry{"Tile", 2, fold_tile},
};

}  // namespace

std::span<const FolderEntry> movement_folders() {
  return kMovementFolders;
}

}  // namespace pantoum::import
