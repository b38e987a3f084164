// Elements and rows picked by indices.
#include <algorithm>
#include <array>

#include "aten/arithmetic.h"
#include "aten/index.h"
#include "aten/operators.h"
#include "aten/pieces.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

constexpr Slot kIndex = {2, "index"};

Result<ValueId> indices_of(Node& node, Slot slot) {
  PANTOUM_ASSIGN(const ValueId index, node.tensor(slot));
  return node.type_of(index).dtype == DType::kU8 ? node.cast(index, DType::kI64) : Result<ValueId>(index);
}

Result<void> lower_embedding(Node& node) {
  PANTOUM_ASSIGN(const ValueId weight, node.real({0, "weight"}));
  PANTOUM_ASSIGN(const ValueId index, indices_of(node, {1, "indices"}));
  PANTOUM_ASSIGN(const int64_t padding, node.integer({2, "padding_idx"}, -1));
  PANTOUM_ASSIGN(const bool by_frequency, node.boolean({3, "scale_grad_by_freq"}, false));
  if (by_frequency)
    return unsupported("its gradients are scaled by how often an index comes", "use scale_grad_by_freq=False");
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_gather, {weight, index}, {{0}, {}}));
  if (padding < 0) return node.set(0, y);
  // The row of the padding is read, and gets no gradient.
  const ValueId row = node.whole_constant(node.type_of(index).dtype, {}, {padding});
  PANTOUM_ASSIGN(ValueId is_padding, node.op(Kind::k_compare, {index, row}, {{PT_COMPARE_EQUAL}, {}}));
  Shape apart = node.shape_of(index);
  apart.push_back(1);
  PANTOUM_ASSIGN(is_padding, node.reshape(is_padding, apart));
  PANTOUM_ASSIGN(const ValueId fixed, detached(node, y));
  return node.set(chosen(node, is_padding, fixed, y));
}

Result<void> lower_index_select(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, node.shape_of(x).size(), 0));
  PANTOUM_ASSIGN(ValueId index, indices_of(node, kIndex));
  PANTOUM_ASSIGN(index, node.reshape(index, {node.type_of(index).elements()}));
  if (node.shape_of(x).empty()) {
    PANTOUM_ASSIGN(x, node.reshape(x, {1}));
  }
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_gather, {x, index}, {{axis}, {}}));
  return node.set(node.reshape(y, node.output().shape));
}

Result<void> lower_gather(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, node.shape_of(x).size(), 0));
  PANTOUM_ASSIGN(ValueId index, indices_of(node, kIndex));
  if (node.shape_of(x).empty()) {
    PANTOUM_ASSIGN(x, node.reshape(x, {1}));
    PANTOUM_ASSIGN(index, node.reshape(index, {1}));
    PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_gather_elements, {x, index}, {{0}, {}}));
    return node.set(node.reshape(y, {}));
  }
  // The other dimensions may be longer than those of the indices.
  const Shape wanted = node.shape_of(index);
  for (size_t d = 0; d < wanted.size(); ++d) {
    if (static_cast<int64_t>(d) == axis || wanted[d] == node.shape_of(x)[d]) continue;
    PANTOUM_ASSIGN(x, piece(node, x, d, 0, wanted[d]));
  }
  return node.set(node.op(Kind::k_gather_elements, {x, index}, {{axis}, {}}));
}

// x[a, :, b]: what the indices name, joined; in the place of the first where they stand together, else in front.
Result<void> lower_indexed(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const Indexed indexed, read_indexed(node, x, {1, "indices"}));
  PANTOUM_ASSIGN(x, node.transpose(x, indexed.perm));
  const Shape shape = node.shape_of(x);
  const size_t first = indexed.first, count = indexed.count;
  if (count == 1) {
    PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_gather, {x, indexed.single}, {{static_cast<int64_t>(first)}, {}}));
    return node.set(node.reshape(y, node.output().shape));
  }
  PANTOUM_ASSIGN(const ValueId row, row_of(node, indexed, shape));
  Shape merged(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(first));
  int64_t rows = 1;
  for (size_t d = first; d < first + count; ++d) rows *= shape[d];
  merged.push_back(rows);
  merged.insert(merged.end(), shape.begin() + static_cast<std::ptrdiff_t>(first + count), shape.end());
  PANTOUM_ASSIGN(x, node.reshape(x, merged));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_gather, {x, row}, {{static_cast<int64_t>(first)}, {}}));
  return node.set(node.reshape(y, node.output().shape));
}

// Values and positions along a dimension, the most (or least) first.
Result<void> top(Node& node, ValueId x, int64_t axis, int64_t count, bool largest) {
  if (node.shape_of(x).empty()) {
    PANTOUM_TRY(node.set(0, x));
    return node.set(1, node.whole_constant(DType::kI64, {}, {0}));
  }
  PANTOUM_ASSIGN(const ValueId at, node.op(Kind::k_top_k, {x}, {{axis, count, largest ? 1 : 0}, {}}));
  PANTOUM_ASSIGN(const ValueId values, node.op(Kind::k_gather_elements, {x, at}, {{axis}, {}}));
  PANTOUM_TRY(node.set(0, values));
  return node.set(1, at);
}

Result<void> lower_top_k(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const int64_t count, node.integer({1, "k"}));
  PANTOUM_ASSIGN(const int64_t axis, node.dimension({2, "dim"}, node.shape_of(x).size(), -1));
  PANTOUM_ASSIGN(const bool largest, node.boolean({3, "largest"}, true));
  return top(node, x, axis, count, largest);
}

template <size_t kFirst>
Result<void> lower_sort(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  const Shape shape = node.shape_of(x);
  PANTOUM_ASSIGN(const int64_t axis, node.dimension({kFirst, "dim"}, shape.size(), -1));
  PANTOUM_ASSIGN(const bool descending, node.boolean({kFirst + 1, "descending"}, false));
  return top(node, x, axis, shape.empty() ? 1 : shape[static_cast<size_t>(axis)], descending);
}

Result<void> lower_arg_sort(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  const Shape shape = node.shape_of(x);
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, shape.size(), -1));
  PANTOUM_ASSIGN(const bool descending, node.boolean({2, "descending"}, false));
  if (shape.empty()) return node.set(0, node.whole_constant(DType::kI64, {}, {0}));
  return node.set(node.op(Kind::k_top_k, {x}, {{axis, shape[static_cast<size_t>(axis)], descending ? 1 : 0}, {}}));
}

// The one of a rank (1 for the least) along a dimension, and its place.
Result<void> of_rank(Node& node, ValueId x, int64_t axis, int64_t rank) {
  const Shape shape = node.shape_of(x);
  PANTOUM_ASSIGN(ValueId at, node.op(Kind::k_top_k, {x}, {{axis, rank, 0}, {}}));
  PANTOUM_ASSIGN(at, piece(node, at, static_cast<size_t>(axis), rank - 1, 1));
  PANTOUM_ASSIGN(ValueId value, node.op(Kind::k_gather_elements, {x, at}, {{axis}, {}}));
  PANTOUM_ASSIGN(value, node.reshape(value, node.wanted_shape()));
  PANTOUM_ASSIGN(at, node.reshape(at, node.wanted_shape()));
  PANTOUM_TRY(node.set(0, value));
  return node.set(1, at);
}

Result<void> lower_kth_value(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const int64_t rank, node.integer({1, "k"}));
  PANTOUM_ASSIGN(const size_t axis, node.axis({2, "dim"}, x, -1));
  return of_rank(node, x, static_cast<int64_t>(axis), rank);
}

// Of an even number of elements the lower of the two in the middle.
Result<void> lower_median(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  if (!node.has(kDim)) {
    PANTOUM_ASSIGN(x, node.reshape(x, {node.type_of(x).elements()}));
  }
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  return of_rank(node, x, static_cast<int64_t>(axis), (node.shape_of(x)[axis] + 1) / 2);
}

// How many of the sorted boundaries lie below (or at, with `right`) each element.
Result<void> lower_bucketize(Node& node) {
  PANTOUM_ASSIGN(const ir::DType dtype, common_type(node, kSelf, {1, "boundaries"}));
  PANTOUM_ASSIGN(ValueId x, node.as(kSelf, dtype));
  PANTOUM_ASSIGN(const ValueId boundaries, node.as({1, "boundaries"}, dtype));
  PANTOUM_ASSIGN(const bool right, node.boolean({3, "right"}, false));
  Shape apart = node.shape_of(x);
  apart.push_back(1);
  PANTOUM_ASSIGN(x, node.reshape(x, apart));
  PANTOUM_ASSIGN(ValueId below,
                 node.op(Kind::k_compare, {boundaries, x}, {{right ? PT_COMPARE_LESS_EQUAL : PT_COMPARE_LESS}, {}}));
  PANTOUM_ASSIGN(below, node.cast(below, node.output().dtype));
  return node.set(node.reduce(Kind::k_reduce_sum, below, {static_cast<int64_t>(apart.size()) - 1}, false));
}

// Is each index the class?
Result<void> lower_one_hot(Node& node) {
  PANTOUM_ASSIGN(ValueId index, indices_of(node, kSelf));
  if (node.output().shape.empty()) return fail("E0211", "it has no classes");
  const int64_t classes = node.output().shape.back();
  Shape apart = node.shape_of(index);
  apart.push_back(1);
  PANTOUM_ASSIGN(index, node.reshape(index, apart));
  std::vector<int64_t> all(static_cast<size_t>(classes));
  for (size_t each = 0; each < all.size(); ++each) all[each] = static_cast<int64_t>(each);
  const ValueId names = node.whole_constant(node.type_of(index).dtype, {classes}, all);
  PANTOUM_ASSIGN(const ValueId hit, node.op(Kind::k_compare, {index, names}, {{PT_COMPARE_EQUAL}, {}}));
  return node.set(node.cast(hit, DType::kI64));
}

constexpr std::array kIndexOperators = {OperatorEntry{"embedding.default", lower_embedding},
                                        OperatorEntry{"index_select.default", lower_index_select},
                                        OperatorEntry{"gather.default", lower_gather},
                                        OperatorEntry{"index.Tensor", lower_indexed},
                                        OperatorEntry{"_unsafe_index.Tensor", lower_indexed},
                                        OperatorEntry{"topk.default", lower_top_k},
                                        OperatorEntry{"sort.default", lower_sort<1>},
                                        OperatorEntry{"sort.stable", lower_sort<2>},
                                        OperatorEntry{"argsort.default", lower_arg_sort, false},
                                        OperatorEntry{"kthvalue.default", lower_kth_value},
                                        OperatorEntry{"median.dim", lower_median},
                                        OperatorEntry{"median.default", lower_median},
                                        OperatorEntry{"bucketize.Tensor", lower_bucketize, false},
                                        OperatorEntry{"one_hot.default", lower_one_hot, false}};

}  // namespace

Result<Indexed> read_indexed(Node& node, ValueId x, Slot slot) {
  PANTOUM_ASSIGN(const std::vector<ValueId> told, node.optional_tensors(slot));
  const size_t rank = node.shape_of(x).size();
  if (told.size() > rank) return fail("E0211", "it has more indices than dimensions");
  Indexed indexed;
  std::vector<int64_t> named, others;
  for (size_t d = 0; d < rank; ++d) {
    if (d < told.size() && told[d] != ir::kNone) {
      if (node.type_of(told[d]).dtype == DType::kBool || node.type_of(told[d]).dtype == DType::kU8)
        return unsupported("how much a mask picks depends on the data", "use torch.where, or multiply by the mask");
      named.push_back(static_cast<int64_t>(d));
      indexed.indices.push_back(told[d]);
    } else {
      others.push_back(static_cast<int64_t>(d));
    }
  }
  if (named.empty()) return fail("E0211", "it has no index");
  const bool together = named.back() - named.front() == static_cast<int64_t>(named.size()) - 1;
  indexed.first = together ? static_cast<size_t>(named.front()) : 0;
  indexed.count = named.size();
  indexed.perm = others;
  indexed.perm.insert(indexed.perm.begin() + static_cast<std::ptrdiff_t>(indexed.first), named.begin(), named.end());
  indexed.single = indexed.indices[0];
  return indexed;
}

Result<ValueId> row_of(Node& node, const Indexed& indexed, const Shape& shape) {
  ValueId row = ir::kNone;
  for (size_t each = 0; each < indexed.count; ++each) {
    PANTOUM_ASSIGN(ValueId index, node.cast(indexed.indices[each], DType::kI64));
    const int64_t extent = shape[indexed.first + each];
    const auto number = [&](int64_t value) { return node.whole_constant(DType::kI64, {}, {value}); };
    PANTOUM_ASSIGN(const ValueId from_end, node.op(Kind::k_compare, {index, number(0)}, {{PT_COMPARE_LESS}, {}}));
    PANTOUM_ASSIGN(const ValueId moved, node.op(Kind::k_add, {index, number(extent)}));
    PANTOUM_ASSIGN(index, chosen(node, from_end, moved, index));
    if (row != ir::kNone) {
      PANTOUM_ASSIGN(row, node.op(Kind::k_mul, {row, number(extent)}));
      PANTOUM_ASSIGN(index, node.op(Kind::k_add, {row, index}));
    }
    row = index;
  }
  return row;
}

std::span<const OperatorEntry> index_operators() {
  return kIndexOperators;
}

}  // namespace pantoum::aten
