// Indexing beyond Gather: GatherElements, GatherND, OneHot.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "import/numbers.h"
#include "import/operators.h"
#include "import/row_indices.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

Result<void> lower_gather_elements(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  PANTOUM_ASSIGN(const ValueId indices, node.value(1));
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", 0), node.shape(0).size()));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_gather_elements, {x, indices}, {{axis}, {}}));
  node.set(0, y);
  return {};
}

// What GatherND reads: the first `batch` dimensions of data and indices are the same samples, the next `depth` of the
// data are indexed, the rest is copied.
struct Tuples {
  size_t batch = 0, depth = 0;
  Shape data, shape;  // of the input, and of the result
};

Result<Tuples> read_tuples(Node& node) {
  Tuples tuples{0, 0, node.shape(0), node.shape(1)};
  const Shape& data = tuples.data;
  const int64_t batch = node.attributes().integer("batch_dims", 0);
  const int64_t depth = tuples.shape.empty() ? 0 : tuples.shape.back(), rank = static_cast<int64_t>(data.size());
  const bool fits = batch >= 0 && batch < static_cast<int64_t>(tuples.shape.size()) && depth >= 1 && batch <= rank &&
                    depth <= rank - batch && std::equal(data.begin(), data.begin() + batch, tuples.shape.begin());
  if (!fits) return fail("E0211", "its indices do not fit its input");
  tuples.batch = static_cast<size_t>(batch);
  tuples.depth = static_cast<size_t>(depth);
  tuples.shape.pop_back();
  tuples.shape.insert(tuples.shape.end(), data.begin() + batch + depth, data.end());
  return tuples;
}

// Indices that the model computes.
Result<ValueId> gather_computed(Node& node, const Tuples& tuples) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  PANTOUM_ASSIGN(const ValueId row, computed_rows(node, tuples.data, tuples.batch, tuples.depth));
  PANTOUM_ASSIGN(const ValueId table, as_rows(node, x, tuples.batch + tuples.depth));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_gather, {table, row}, {{0}, {}}));
  return node.reshape(y, tuples.shape);
}

// Single indices are Gather; of constant ones the rows are known.
Result<ValueId> gathered_tuples(Node& node, const Tuples& tuples) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  const bool constant = node.setting(1) != nullptr;
  if (tuples.batch > 0 || (tuples.depth > 1 && !constant)) return gather_computed(node, tuples);
  if (!constant) {
    PANTOUM_ASSIGN(ValueId one, node.value(1));
    PANTOUM_ASSIGN(one, index_of_tuples(node, one, 0));
    return node.op(Kind::k_gather, {x, one}, {{0}, {}});
  }
  PANTOUM_ASSIGN(const Rows rows, named_rows(node, tuples.data, tuples.depth));
  PANTOUM_ASSIGN(const ValueId table, node.reshape(x, {rows.count, rows.inner}));
  PANTOUM_ASSIGN(const ValueId named, row_constant(node, rows.named));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_gather, {table, named}, {{0}, {}}));
  return node.reshape(y, tuples.shape);
}

Result<void> lower_gather_nd(Node& node) {
  PANTOUM_TRY(node.value(0));
  PANTOUM_TRY(node.value(1));
  PANTOUM_ASSIGN(const Tuples tuples, read_tuples(node));
  PANTOUM_ASSIGN(const ValueId y, gathered_tuples(node, tuples));
  node.set(0, y);
  return {};
}

// Off and on, as constants of one element.
Result<std::array<ValueId, 2>> one_hot_values(Node& node) {
  const Tensor* told = node.setting(2);
  if (told == nullptr || told->type.elements() != 2) return unsupported("its values are not two constant numbers");
  const Numbers both = to_numbers(*told);
  std::array<ValueId, 2> values{};
  for (const size_t which : {size_t{0}, size_t{1}}) {
    Numbers one = pick(both, {}, {which});
    one.dtype = runtime_dtype(one.dtype);
    const Tensor made = to_tensor(one);
    values[which] = node.builder().constant(node.label() + ".value", made.type, made.data);
  }
  return values;
}

// As int64 or int32, which hold a negative class.
Result<ValueId> class_indices(Node& node) {
  PANTOUM_ASSIGN(const ValueId indices, node.value(0));
  const ir::TensorType type = node.builder().type(indices);
  if (type.dtype == DType::kI64 || type.dtype == DType::kI32) return indices;
  return node.op(Kind::k_cast, {indices}, {}, {{DType::kI64, type.shape}});
}

// Each index, and the same from the end, against all classes.
Result<ValueId> hits(Node& node, ValueId indices, int64_t depth, size_t axis) {
  const ir::TensorType type = node.builder().type(indices);
  Shape along(type.shape.size(), 1);
  along[axis] = depth;
  PANTOUM_TRY(node.spend(2 * depth));
  std::array<ValueId, 2> equal{};
  for (const int64_t end : {int64_t{0}, int64_t{1}}) {
    std::vector<int64_t> classes(static_cast<size_t>(depth));
    std::iota(classes.begin(), classes.end(), -end * depth);
    const Tensor range = make_tensor(type.dtype, along, classes);
    const ValueId all = node.builder().constant(node.label() + ".classes", range.type, range.data);
    PANTOUM_ASSIGN(equal[static_cast<size_t>(end)], node.op(Kind::k_compare, {indices, all}, {{PT_COMPARE_EQUAL}, {}}));
  }
  return node.op(Kind::k_compare, {equal[0], equal[1]}, {{PT_COMPARE_OR}, {}});
}

Result<void> lower_one_hot(Node& node) {
  PANTOUM_ASSIGN(ValueId indices, class_indices(node));
  const std::optional<double> depth = node.scalar(1);
  if (!depth) return unsupported("its depth is not constant", "give the number of classes as a fixed number");
  if (!(*depth >= 1 && *depth <= INT32_MAX)) return fail("E0211", "its depth is out of range");
  Shape shape = node.shape(0);
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", -1), shape.size() + 1));
  shape.insert(shape.begin() + axis, 1);
  PANTOUM_ASSIGN(indices, node.reshape(indices, shape));
  PANTOUM_ASSIGN(const auto values, one_hot_values(node));
  PANTOUM_ASSIGN(const ValueId hit, hits(node, indices, static_cast<int64_t>(*depth), static_cast<size_t>(axis)));
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_where, {hit, values[1], values[0]}));
  node.set(0, y);
  return {};
}

constexpr std::array kIndexOperators = {OperatorEntry{"GatherElements", lower_gather_elements, "gather_elements"},
                                        OperatorEntry{"GatherND", lower_gather_nd, "slice add gather"},
                                        OperatorEntry{"OneHot", lower_one_hot, "compare where",
                                                      "constant depth and values of any type; no gradient passes"}};

}  // namespace

std::span<const OperatorEntry> index_operators() {
  return kIndexOperators;
}

}  // namespace pantoum::import
