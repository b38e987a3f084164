// Elements and rows picked and written by indices.
#include <algorithm>

#include "aten/operators.h"

namespace pantoum::aten {
namespace {

constexpr Slot kIndex = {2, "index"}, kSource = {3, "src"};

Value indices_of(Node& node, Slot slot) {
  const Value index = node.tensor(slot);
  return index.dtype() == DType::kU8 ? cast(index, DType::kI64) : index;
}

// Reads a number as a tensor of one element.
Value at_least_one(const Value& x) {
  return x.rank() == 0 ? reshape(x, {1}) : x;
}

Result<void> lower_embedding(Node& node) {
  const Value weight = node.real({0, "weight"}), index = indices_of(node, {1, "indices"});
  const int64_t padding = node.integer({2, "padding_idx"}, -1);
  return node.set(import::embedded(weight, index, padding, node.boolean({3, "scale_grad_by_freq"}, false)));
}

Result<void> lower_index_select(Node& node) {
  const Value x = node.tensor(kSelf);
  const size_t axis = node.dimension(kDim, x.rank(), 0);
  const Value index = flattened(indices_of(node, kIndex));
  return node.set_reshaped(gather(at_least_one(x), index, axis));
}

Result<void> lower_gather(Node& node) {
  Value x = node.tensor(kSelf);
  const size_t axis = node.dimension(kDim, x.rank(), 0);
  const Value index = indices_of(node, kIndex);
  if (x.rank() == 0) return node.set(reshape(gather_elements(reshape(x, {1}), reshape(index, {1}), 0), {}));
  PANTOUM_TRY(node.refusal());
  // The other dimensions may be longer than those of the indices.
  const Shape wanted = index.shape(), shape = x.shape();
  for (size_t d = 0; d < std::min(wanted.size(), shape.size()); ++d)
    if (d != axis && wanted[d] != shape[d]) x = piece(x, d, 0, wanted[d]);
  return node.set(gather_elements(x, index, axis));
}

// Indexing by several tensors at once, as x[a, :, b] reads and writes it: the indexed dimensions stand together, in the place of the first
// where they stood together, else in front.
struct Indexed {
  Value x;           // its dimensions in the order of `perm`
  Integers perm;     // of what it was
  size_t first = 0;  // of the indexed dimensions
  Values indices;    // one for each, in their order

  size_t end() const { return first + indices.size(); }
};

// E0401 for masks; E0211.
Result<Indexed> read_indexed(Node& node, const Value& x, Slot slot) {
  const Values told = node.optional_tensors(slot);
  PANTOUM_TRY(node.refusal());
  if (told.size() > x.rank()) return misfit("it has more indices than dimensions");
  Indexed indexed;
  Integers named;
  for (size_t d = 0; d < x.rank(); ++d) {
    if (d >= told.size() || !told[d]) {
      indexed.perm.push_back(static_cast<int64_t>(d));
      continue;
    }
    if (told[d].dtype() == DType::kBool || told[d].dtype() == DType::kU8)
      return unsupported("how much a mask picks depends on the data", "use torch.where, or multiply by the mask");
    named.push_back(static_cast<int64_t>(d));
    indexed.indices.push_back(told[d]);
  }
  if (named.empty()) return misfit("it has no index");
  const bool together = named.back() - named.front() == static_cast<int64_t>(named.size()) - 1;
  indexed.first = together ? static_cast<size_t>(named.front()) : 0;
  indexed.perm.insert(indexed.perm.begin() + static_cast<std::ptrdiff_t>(indexed.first), named.begin(), named.end());
  indexed.x = transpose(x, indexed.perm);
  return indexed;
}

// The indices as one, into the indexed dimensions read as one. Indices below 0 count from the end of their dimension; the bounds of each are
// not checked, those of all together are.
Value row_of(Node& node, const Indexed& indexed) {
  const Shape shape = indexed.x.shape();
  Value row;
  for (size_t each = 0; each < indexed.indices.size(); ++each) {
    const Value given = cast(indexed.indices[each], DType::kI64);
    const Value extent = node.number(DType::kI64, static_cast<double>(shape[indexed.first + each]));
    const Value is_below = compare(given, PT_COMPARE_LESS, 0);
    const Value index = where(is_below, given + extent, given);
    row = row ? row * extent + index : index;
  }
  return row;
}

Result<void> lower_indexed(Node& node) {
  PANTOUM_ASSIGN(const Indexed indexed, read_indexed(node, node.tensor(kSelf), {1, "indices"}));
  if (indexed.indices.size() == 1) return node.set_reshaped(gather(indexed.x, indexed.indices[0], indexed.first));
  const Value row = row_of(node, indexed);
  const Shape shape = indexed.x.shape();
  Shape merged;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (d <= indexed.first || d >= indexed.end())
      merged.push_back(shape[d]);
    else
      merged.back() *= shape[d];
  }
  return node.set_reshaped(gather(reshape(indexed.x, merged), row, indexed.first));
}

// Values and positions along a dimension, the most (or least) first.
Result<void> set_top(Node& node, const Value& x, size_t axis, int64_t count, bool largest) {
  if (x.rank() == 0) return node.set_both(x, node.whole(DType::kI64, {}, {0}));
  const Value at = top_k(x, axis, count, largest);
  return node.set_both(gather_elements(x, at, axis), at);
}

Result<void> lower_top_k(Node& node) {
  const Value x = node.tensor(kSelf);
  const size_t axis = node.dimension({2, "dim"}, x.rank(), -1);
  return set_top(node, x, axis, node.integer({1, "k"}), node.boolean({3, "largest"}, true));
}

int64_t extent_of(const Value& x, size_t axis) {
  return x.rank() == 0 ? 1 : x.shape()[axis];
}

template <size_t kFirst>
Result<void> lower_sort(Node& node) {
  const Value x = node.tensor(kSelf);
  const size_t axis = node.dimension({kFirst, "dim"}, x.rank(), -1);
  return set_top(node, x, axis, extent_of(x, axis), node.boolean({kFirst + 1, "descending"}, false));
}

// The one of a rank (1 for the least) along a dimension, and its place.
Result<void> set_of_rank(Node& node, const Value& x, size_t axis, int64_t rank) {
  const Value at = piece(top_k(x, axis, rank, false), axis, rank - 1, 1);
  const Value value = reshape(gather_elements(x, at, axis), node.wanted_shape());
  return node.set_both(value, reshape(at, node.wanted_shape()));
}

Result<void> lower_kth_value(Node& node) {
  const Value x = node.tensor(kSelf);
  PANTOUM_ASSIGN(const size_t axis, node.axis({2, "dim"}, x, -1));
  return set_of_rank(node, x, axis, node.integer({1, "k"}));
}

// The median of an even number of elements is the lower of the two in the middle.
Result<void> lower_median(Node& node) {
  const Value given = node.tensor(kSelf), x = node.has(kDim) ? given : flattened(given);
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  return set_of_rank(node, x, axis, (x.shape()[axis] + 1) / 2);
}

// How many of the sorted boundaries lie below (or at, with `right`) each element.
Result<void> lower_bucketize(Node& node) {
  constexpr Slot kBoundaries = {1, "boundaries"};
  const DType dtype = common_type(node, kSelf, kBoundaries);
  const Value given = node.as(kSelf, dtype), boundaries = node.as(kBoundaries, dtype), x = apart(given);
  const bool right = node.boolean({3, "right"}, false);
  const Value below = compare(boundaries, right ? PT_COMPARE_LESS_EQUAL : PT_COMPARE_LESS, x);
  const auto last = static_cast<int64_t>(x.rank()) - 1;
  return node.set(reduce(Kind::k_reduce_sum, cast(below, node.output().dtype), {last}, false));
}

// The source, cut to the extents of the indices, in the type of x.
Value source_of(Node& node, const Value& x, const Value& index) {
  const Shape wanted = index.shape();
  if (!node.is_tensor(kSource)) return expand(node.as(kSource, x.dtype()), wanted);
  Value source = node.tensor(kSource);
  if (source.rank() != wanted.size()) return expand(source, wanted);
  for (size_t d = 0; d < wanted.size(); ++d) source = piece(source, d, 0, wanted[d]);
  return cast(source, x.dtype());
}

Result<void> write_elements(Node& node, int64_t how) {
  const Value given = node.tensor(kSelf), named = node.tensor(kIndex);
  const size_t axis = node.dimension(kDim, given.rank(), 0);
  const bool number = given.rank() == 0;
  const Value x = number ? reshape(given, {1}) : given, index = number ? reshape(named, {1}) : named;
  return node.set(reshape(scatter(x, index, source_of(node, x, index), axis, how), given.shape()));
}

template <int64_t kHow>
Result<void> lower_scatter(Node& node) {
  return write_elements(node, kHow);
}

Result<void> lower_scatter_reduce(Node& node) {
  const std::string name = node.text({4, "reduce"}, "");
  if (node.is("aten.scatter_reduce.two") && !node.boolean({5, "include_self"}, true))
    node.refuse(unsupported("it does not include what is there", "use include_self=True"));
  if (name == "sum" || name == "add") return write_elements(node, PT_SCATTER_ADD);
  if (name == "prod" || name == "multiply") return write_elements(node, PT_SCATTER_MUL);
  if (name == "amax") return write_elements(node, PT_SCATTER_MAX);
  if (name == "amin") return write_elements(node, PT_SCATTER_MIN);
  return unsupported("it reduces by '" + name + "'", "divide a sum by a count");
}

// Whole slices along a dimension, by a vector of indices.
Result<void> write_slices(Node& node, int64_t how, const Value& source) {
  const Value x = node.tensor(kSelf), index = flattened(node.tensor(kIndex));
  const size_t axis = node.dimension(kDim, x.rank(), 0);
  Shape wanted = x.shape();
  if (wanted.empty()) return unsupported("it writes into a number", "give it a dimension");
  wanted[axis] = index.elements();
  return node.set(scatter(x, index, expand(cast(source, x.dtype()), wanted), axis, how));
}

Result<void> lower_index_add(Node& node) {
  const Value source = node.tensor({3, "source"});
  return write_slices(node, PT_SCATTER_ADD, scale(source, node.number({4, "alpha"}, 1)));
}

Result<void> lower_index_copy(Node& node) {
  return write_slices(node, PT_SCATTER_LAST, node.tensor({3, "source"}));
}

// x[mask] = v: one value, or a choice by a mask of x's own shape.
Result<void> put_by_mask(Node& node, const Value& x, const Value& mask) {
  const Value given = node.tensor({2, "values"});
  if (given.elements() != 1) return unsupported("it writes many values by a mask", "use torch.where");
  const Value value = cast(reshape(given, {}), x.dtype());
  const Value put = node.boolean({3, "accumulate"}, false) ? x + value : value;
  Shape shape = mask.shape();
  shape.resize(x.rank(), 1);
  return node.set(where(reshape(mask, shape), put, x));
}

// x[a, :, b] = values, as rows of the indexed dimensions read as one.
Result<void> lower_index_put(Node& node) {
  const Value given = node.tensor(kSelf);
  const Values told = node.optional_tensors({1, "indices"});
  PANTOUM_TRY(node.refusal());
  if (told.size() == 1 && told[0] && told[0].dtype() == DType::kBool) return put_by_mask(node, given, told[0]);
  PANTOUM_ASSIGN(const Indexed indexed, read_indexed(node, given, {1, "indices"}));
  const Value values = node.tensor({2, "values"});
  const bool adds = node.boolean({3, "accumulate"}, false);
  if (indexed.first != 0)
    return unsupported("it writes behind dimensions that are not indexed", "index the first dimensions");
  const Value row = row_of(node, indexed);
  const Shape shape = indexed.x.shape();
  int64_t rows = 1, inner = 1;
  for (size_t d = 0; d < shape.size(); ++d) (d < indexed.end() ? rows : inner) *= shape[d];
  const int64_t count = row.elements();
  Shape wanted = row.shape();
  wanted.insert(wanted.end(), shape.begin() + static_cast<std::ptrdiff_t>(indexed.end()), shape.end());
  const Value updates = reshape(expand(cast(values, given.dtype()), wanted), {count, inner});
  const Value numbers = reshape(row, {count}), table = reshape(indexed.x, {rows, inner});
  const Value y = reshape(scatter(table, numbers, updates, 0, adds ? PT_SCATTER_ADD : PT_SCATTER_LAST), shape);
  Integers back(indexed.perm.size());
  for (size_t d = 0; d < back.size(); ++d) back[static_cast<size_t>(indexed.perm[d])] = static_cast<int64_t>(d);
  return node.set(transpose(y, back));
}

constexpr OperatorEntry kIndexOperators[] = {
    {"embedding.default", lower_embedding},
    {"index_select.default", lower_index_select},
    {"gather.default", lower_gather},
    {"index.Tensor", lower_indexed},
    {"topk.default", lower_top_k},
    {"sort.default", lower_sort<1>},
    {"sort.stable", lower_sort<2>},
    {"kthvalue.default", lower_kth_value},
    {"median.dim median.default", lower_median},
    {"bucketize.Tensor", lower_bucketize, false},
    {"scatter.src scatter.value", lower_scatter<PT_SCATTER_LAST>},
    {"scatter_add.default", lower_scatter<PT_SCATTER_ADD>},
    {"scatter.reduce scatter.value_reduce scatter_reduce.two", lower_scatter_reduce},
    {"index_add.default", lower_index_add},
    {"index_copy.default", lower_index_copy},
    {"index_put.default", lower_index_put}};

}  // namespace

constinit const Family index_operators = kIndexOperators;

}  // namespace pantoum::aten
