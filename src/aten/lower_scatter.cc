// Elements and rows written by indices.
#include <array>
#include <numeric>

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

constexpr Slot kIndices = {2, "index"}, kSource = {3, "src"};

// The source, cut to the extents of the indices, in the type of x.
Result<ValueId> source_of(Node& node, ValueId x, ValueId index) {
  const Shape wanted = node.shape_of(index);
  if (!node.is_tensor(kSource)) {
    PANTOUM_ASSIGN(const ValueId number, node.as(kSource, node.type_of(x).dtype));
    return node.expand(number, wanted);
  }
  PANTOUM_ASSIGN(ValueId source, node.tensor(kSource));
  if (node.shape_of(source).size() != wanted.size()) return node.expand(source, wanted);
  for (size_t d = 0; d < wanted.size(); ++d) {
    PANTOUM_ASSIGN(source, piece(node, source, d, 0, wanted[d]));
  }
  return node.cast(source, node.type_of(x).dtype);
}

Result<void> scatter(Node& node, int64_t how) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  const Shape shape = node.shape_of(x);
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, shape.size(), 0));
  PANTOUM_ASSIGN(ValueId index, node.tensor(kIndices));
  if (shape.empty()) {
    PANTOUM_ASSIGN(x, node.reshape(x, {1}));
    PANTOUM_ASSIGN(index, node.reshape(index, {1}));
  }
  PANTOUM_ASSIGN(const ValueId source, source_of(node, x, index));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_scatter_elements, {x, index, source}, {{axis, how}, {}}));
  return node.set(node.reshape(y, shape));
}

template <int64_t kHow>
Result<void> lower_scatter(Node& node) {
  return scatter(node, kHow);
}

Result<int64_t> reduction(Node& node, Slot slot) {
  PANTOUM_ASSIGN(const std::string name, node.text(slot, ""));
  if (name == "sum" || name == "add") return PT_SCATTER_ADD;
  if (name == "prod" || name == "multiply") return PT_SCATTER_MUL;
  if (name == "amax") return PT_SCATTER_MAX;
  if (name == "amin") return PT_SCATTER_MIN;
  return unsupported("it reduces by '" + name + "'", "divide a sum by a count");
}

template <bool kTwo>
Result<void> lower_scatter_reduce(Node& node) {
  PANTOUM_ASSIGN(const int64_t how, reduction(node, {4, "reduce"}));
  PANTOUM_ASSIGN(const bool include, node.boolean({5, "include_self"}, true));
  if (kTwo && !include) return unsupported("it does not include what is there", "use include_self=True");
  return scatter(node, how);
}

// Whole slices along a dimension, by a vector of indices.
Result<void> write_slices(Node& node, int64_t how, ValueId source) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, node.shape_of(x).size(), 0));
  PANTOUM_ASSIGN(ValueId index, node.tensor(kIndices));
  PANTOUM_ASSIGN(index, node.reshape(index, {node.type_of(index).elements()}));
  Shape wanted = node.shape_of(x);
  if (wanted.empty()) return unsupported("it writes into a number", "give it a dimension");
  wanted[static_cast<size_t>(axis)] = node.type_of(index).elements();
  PANTOUM_ASSIGN(source, node.cast(source, node.type_of(x).dtype));
  PANTOUM_ASSIGN(source, node.expand(source, wanted));
  return node.set(node.op(Kind::k_scatter_elements, {x, index, source}, {{axis, how}, {}}));
}

Result<void> lower_index_add(Node& node) {
  PANTOUM_ASSIGN(ValueId source, node.tensor({3, "source"}));
  PANTOUM_ASSIGN(const double alpha, node.number({4, "alpha"}, 1));
  if (alpha != 1) {
    PANTOUM_ASSIGN(source, node.scale(source, alpha));
  }
  return write_slices(node, PT_SCATTER_ADD, source);
}

Result<void> lower_index_copy(Node& node) {
  PANTOUM_ASSIGN(const ValueId source, node.tensor({3, "source"}));
  return write_slices(node, PT_SCATTER_LAST, source);
}

Result<void> lower_index_fill(Node& node) {
  PANTOUM_ASSIGN(const ValueId source, node.as({3, "value"}, node.output().dtype));
  return write_slices(node, PT_SCATTER_LAST, source);
}

// x[mask] = v: one value, or a choice by a mask of x's own shape.
Result<bool> put_by_mask(Node& node, ValueId x) {
  PANTOUM_ASSIGN(const std::vector<ValueId> told, node.optional_tensors({1, "indices"}));
  if (told.size() != 1 || told[0] == ir::kNone || node.type_of(told[0]).dtype != DType::kBool) return false;
  PANTOUM_ASSIGN(ValueId value, node.tensor({2, "values"}));
  if (node.type_of(value).elements() != 1) return unsupported("it writes many values by a mask", "use torch.where");
  PANTOUM_ASSIGN(const bool adds, node.boolean({3, "accumulate"}, false));
  PANTOUM_ASSIGN(value, node.reshape(value, {}));
  PANTOUM_ASSIGN(value, node.cast(value, node.type_of(x).dtype));
  if (adds) {
    PANTOUM_ASSIGN(value, node.op(Kind::k_add, {x, value}));
  }
  Shape shape = node.shape_of(told[0]);
  shape.resize(node.shape_of(x).size(), 1);
  PANTOUM_ASSIGN(const ValueId mask, node.reshape(told[0], shape));
  PANTOUM_TRY(node.set(chosen(node, mask, value, x)));
  return true;
}

// x[a, :, b] = values, as rows of the indexed dimensions read as one.
Result<void> lower_index_put(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const bool done, put_by_mask(node, x));
  if (done) return {};
  PANTOUM_ASSIGN(const Indexed indexed, read_indexed(node, x, {1, "indices"}));
  PANTOUM_ASSIGN(ValueId values, node.tensor({2, "values"}));
  PANTOUM_ASSIGN(const bool adds, node.boolean({3, "accumulate"}, false));
  if (indexed.first != 0)
    return unsupported("it writes behind dimensions that are not indexed", "index the first dimensions");
  const Shape before = node.shape_of(x);
  PANTOUM_ASSIGN(x, node.transpose(x, indexed.perm));
  const Shape shape = node.shape_of(x);
  PANTOUM_ASSIGN(ValueId row, row_of(node, indexed, shape));
  const Shape picked = node.shape_of(row);
  int64_t rows = 1, inner = 1;
  for (size_t d = 0; d < shape.size(); ++d) (d < indexed.count ? rows : inner) *= shape[d];
  const int64_t count = node.type_of(row).elements();
  Shape wanted = picked;
  wanted.insert(wanted.end(), shape.begin() + static_cast<std::ptrdiff_t>(indexed.count), shape.end());
  PANTOUM_ASSIGN(values, node.cast(values, node.type_of(x).dtype));
  PANTOUM_ASSIGN(values, node.expand(values, wanted));
  PANTOUM_ASSIGN(values, node.reshape(values, {count, inner}));
  PANTOUM_ASSIGN(row, node.reshape(row, {count}));
  PANTOUM_ASSIGN(x, node.reshape(x, {rows, inner}));
  PANTOUM_ASSIGN(
      x, node.op(Kind::k_scatter_elements, {x, row, values}, {{0, adds ? PT_SCATTER_ADD : PT_SCATTER_LAST}, {}}));
  PANTOUM_ASSIGN(x, node.reshape(x, shape));
  std::vector<int64_t> back(indexed.perm.size());
  for (size_t d = 0; d < back.size(); ++d) back[static_cast<size_t>(indexed.perm[d])] = static_cast<int64_t>(d);
  return node.set(node.transpose(x, back));
}

constexpr std::array kScatterOperators = {OperatorEntry{"scatter.src", lower_scatter<PT_SCATTER_LAST>},
                                          OperatorEntry{"scatter.value", lower_scatter<PT_SCATTER_LAST>},
                                          OperatorEntry{"scatter_add.default", lower_scatter<PT_SCATTER_ADD>},
                                          OperatorEntry{"scatter.reduce", lower_scatter_reduce<false>},
                                          OperatorEntry{"scatter.value_reduce", lower_scatter_reduce<false>},
                                          OperatorEntry{"scatter_reduce.two", lower_scatter_reduce<true>},
                                          OperatorEntry{"index_add.default", lower_index_add},
                                          OperatorEntry{"index_copy.default", lower_index_copy},
                                          OperatorEntry{"index_fill.int_Scalar", lower_index_fill},
                                          OperatorEntry{"index_put.default", lower_index_put},
                                          OperatorEntry{"_unsafe_index_put.default", lower_index_put}};

}  // namespace

std::span<const OperatorEntry> scatter_operators() {
  return kScatterOperators;
}

}  // namespace pantoum::aten
