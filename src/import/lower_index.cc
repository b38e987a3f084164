// Indexing beyond Gather: GatherElements, GatherND, ScatterND, ScatterElements, OneHot.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "import/operators.h"
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

// The first `depth` dimensions of the data as one, and the row there that each tuple of constant indices names.
struct Rows {
  int64_t count = 1, inner = 1;
  std::vector<int64_t> named;
};

Result<Rows> named_rows(Node& node, const Shape& data, size_t depth) {
  PANTOUM_ASSIGN(const std::vector<int64_t> indices, node.integers(1, "indices"));
  Rows rows;
  for (size_t d = 0; d < data.size(); ++d) (d < depth ? rows.count : rows.inner) *= data[d];
  for (size_t tuple = 0; tuple + depth <= indices.size(); tuple += depth) {
    int64_t row = 0;
    for (size_t d = 0; d < depth; ++d) {
      const int64_t index = indices[tuple + d] < 0 ? indices[tuple + d] + data[d] : indices[tuple + d];
      if (index < 0 || index >= data[d]) return fail("E0211", "a constant index is out of range");
      row = row * data[d] + index;
    }
    rows.named.push_back(row);
  }
  return rows;
}

Result<ValueId> gathered_rows(Node& node, ValueId table, const std::vector<int64_t>& rows) {
  const auto count = static_cast<int64_t>(rows.size());
  PANTOUM_TRY(node.spend(count));
  const ValueId indices = node.builder().constant_i64(node.label() + ".rows", {count}, rows);
  return node.op(Kind::k_gather, {table, indices}, {{0}, {}});
}

// The positions [0, extent) times `step`: gathered through an index they tell how far it leads, whether it counts from
// the end, and the kernel refuses one that is out of range.
Result<ValueId> offsets(Node& node, ValueId index, int64_t extent, int64_t step) {
  PANTOUM_TRY(node.spend(extent));
  std::vector<int64_t> far(static_cast<size_t>(extent));
  for (int64_t at = 0; at < extent; ++at) far[static_cast<size_t>(at)] = at * step;
  const ValueId table = node.builder().constant_i64(node.label() + ".offsets", {extent}, far);
  return node.op(Kind::k_gather, {table, index}, {{0}, {}});
}

// Index `d` of every tuple.
Result<ValueId> index_of_tuples(Node& node, ValueId tuples, int64_t d) {
  ir::TensorType type = node.builder().type(tuples);
  ir::Attrs attrs;
  for (size_t at = 0; at < type.shape.size(); ++at) attrs.ints.insert(attrs.ints.end(), {0, 1});
  attrs.ints[attrs.ints.size() - 2] = d;
  type.shape.back() = 1;
  PANTOUM_ASSIGN(const ValueId one, node.op(Kind::k_slice, {tuples}, std::move(attrs), {type}));
  type.shape.pop_back();
  return node.reshape(one, std::move(type.shape));
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

// The row of every sample's first element, in the shape of the indices without their last dimension or one that
// broadcasts to it.
Result<ValueId> rows_of_samples(Node& node, const Tuples& tuples, int64_t step) {
  int64_t samples = 1;
  Shape shape(node.shape(1).size() - 1, 1);
  for (size_t d = 0; d < tuples.batch; ++d) samples *= shape[d] = tuples.data[d];
  PANTOUM_TRY(node.spend(samples));
  std::vector<int64_t> first(static_cast<size_t>(samples));
  for (int64_t sample = 0; sample < samples; ++sample) first[static_cast<size_t>(sample)] = sample * step;
  return node.builder().constant_i64(node.label() + ".samples", shape, first);
}

// Indices that the model computes: rows of the flattened data, which the offsets of all dimensions add up to.
Result<ValueId> gather_computed(Node& node, const Tuples& tuples) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  PANTOUM_ASSIGN(const ValueId indices, node.value(1));
  int64_t step = 1, inner = 1, count = 1;
  for (size_t d = tuples.batch + tuples.depth; d < tuples.data.size(); ++d) inner *= tuples.data[d];
  for (size_t d = 0; d < tuples.batch + tuples.depth; ++d) count *= tuples.data[d];
  ValueId row = ir::kNone;
  for (size_t d = tuples.depth; d-- > 0;) {
    PANTOUM_ASSIGN(const ValueId index, index_of_tuples(node, indices, static_cast<int64_t>(d)));
    PANTOUM_ASSIGN(const ValueId far, offsets(node, index, tuples.data[tuples.batch + d], step));
    step *= tuples.data[tuples.batch + d];
    if (row == ir::kNone) {
      row = far;
    } else {
      PANTOUM_ASSIGN(row, node.op(Kind::k_add, {row, far}));
    }
  }
  if (tuples.batch > 0) {
    PANTOUM_ASSIGN(const ValueId samples, rows_of_samples(node, tuples, step));
    PANTOUM_ASSIGN(row, node.op(Kind::k_add, {row, samples}));
  }
  PANTOUM_ASSIGN(const ValueId table, node.reshape(x, {count, inner}));
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
  PANTOUM_ASSIGN(const ValueId y, gathered_rows(node, table, rows.named));
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

// Rows of the data, but where one is named the last update of it: both tables are joined and read through constant
// indices.
Result<void> scatter(Node& node, const Rows& rows) {
  if (node.attributes().text("reduction", "none") != "none") return unsupported("it reduces", "add outside of it");
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  PANTOUM_ASSIGN(const ValueId updates, node.value(2));
  const auto named = static_cast<int64_t>(rows.named.size());
  if (node.type(2).elements() != named * rows.inner) return fail("E0211", "its updates do not fit its indices");
  PANTOUM_TRY(node.spend(rows.count));
  std::vector<int64_t> from(static_cast<size_t>(rows.count));
  std::iota(from.begin(), from.end(), int64_t{0});
  for (size_t update = 0; update < rows.named.size(); ++update) {
    from[static_cast<size_t>(rows.named[update])] = rows.count + static_cast<int64_t>(update);
  }
  PANTOUM_ASSIGN(const ValueId old_rows, node.reshape(x, {rows.count, rows.inner}));
  PANTOUM_ASSIGN(const ValueId new_rows, node.reshape(updates, {named, rows.inner}));
  PANTOUM_ASSIGN(const ValueId both, node.op(Kind::k_concat, {old_rows, new_rows}, {{0}, {}}));
  PANTOUM_ASSIGN(ValueId y, gathered_rows(node, both, from));
  PANTOUM_ASSIGN(y, node.reshape(y, node.shape(0)));
  node.set(0, y);
  return {};
}

Result<void> check_scatter(Node& node) {
  if (node.has(0) && node.has(1) && node.has(2)) return {};
  return fail("E0211", "it does not have three inputs");
}

Result<void> lower_scatter_nd(Node& node) {
  PANTOUM_TRY(check_scatter(node));
  const Shape data = node.shape(0), indices = node.shape(1);
  const int64_t depth = indices.empty() ? 0 : indices.back();
  if (depth < 1 || depth > static_cast<int64_t>(data.size())) return fail("E0211", "its indices do not fit its input");
  PANTOUM_ASSIGN(const Rows rows, named_rows(node, data, static_cast<size_t>(depth)));
  return scatter(node, rows);
}

Result<void> lower_scatter_elements(Node& node) {
  PANTOUM_TRY(check_scatter(node));
  const Shape data = node.shape(0), extents = node.shape(1);
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", 0), data.size()));
  PANTOUM_ASSIGN(const std::vector<int64_t> indices, node.integers(1, "indices"));
  if (extents.size() != data.size()) return fail("E0211", "its indices have another rank than its input");
  Rows rows;
  for (const int64_t extent : data) rows.count *= extent;
  for (size_t element = 0; element < indices.size(); ++element) {
    int64_t rest = static_cast<int64_t>(element), row = 0, step = 1;
    for (size_t d = data.size(); d-- > 0;) {
      const int64_t index = static_cast<int64_t>(d) == axis ? indices[element] : rest % extents[d];
      const int64_t at = index < 0 ? index + data[d] : index;
      if (at < 0 || at >= data[d]) return fail("E0211", "a constant index is out of range");
      row += at * step;
      rest /= extents[d];
      step *= data[d];
    }
    rows.named.push_back(row);
  }
  return scatter(node, rows);
}

// Each index, and the same from the end, against all classes.
Result<void> lower_one_hot(Node& node) {
  PANTOUM_ASSIGN(ValueId indices, node.value(0));
  PANTOUM_ASSIGN(const std::vector<int64_t> told, node.integers(1, "depth"));
  const Tensor* values = node.setting(2);
  if (told.size() != 1 || told[0] < 1 || told[0] > INT32_MAX) return fail("E0211", "its depth is out of range");
  if (values == nullptr || values->type.elements() != 2) return unsupported("its values are not two constant numbers");
  const int64_t depth = told[0];
  PANTOUM_TRY(node.spend(depth));
  Shape shape = node.shape(0);
  const DType dtype = node.type(0).dtype;
  if (dtype != DType::kI64 && dtype != DType::kI32) return unsupported("its indices are not int64 or int32");
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", -1), shape.size() + 1));
  shape.insert(shape.begin() + axis, 1);
  PANTOUM_ASSIGN(indices, node.reshape(indices, shape));
  ValueId hit = ir::kNone;
  for (const int64_t first : {int64_t{0}, -depth}) {
    std::vector<int64_t> classes(static_cast<size_t>(depth));
    std::iota(classes.begin(), classes.end(), first);
    Shape along(shape.size(), 1);
    along[static_cast<size_t>(axis)] = depth;
    const Tensor range = make_tensor(dtype, along, classes);
    const ValueId all = node.builder().constant(node.label() + ".classes", range.type, range.data);
    PANTOUM_ASSIGN(const ValueId equal, node.op(Kind::k_compare, {indices, all}, {{PT_COMPARE_EQUAL}, {}}));
    hit = hit == ir::kNone ? equal : hit;
    if (hit == equal) continue;
    PANTOUM_ASSIGN(hit, node.op(Kind::k_compare, {hit, equal}, {{PT_COMPARE_OR}, {}}));
  }
  const auto bytes = static_cast<std::ptrdiff_t>(ir::size_of(values->type.dtype));
  const auto scalar = [&](std::ptrdiff_t which) {  // 0: off, 1: on
    const auto begin = values->data->begin() + which * bytes;
    const auto data = std::make_shared<const std::vector<std::byte>>(begin, begin + bytes);
    return node.builder().constant(node.label() + ".value", {values->type.dtype, {}}, data);
  };
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_where, {hit, scalar(1), scalar(0)}));
  node.set(0, y);
  return {};
}

constexpr const char* kLast = "constant indices; of several updates of an element the last holds; no reduction";
constexpr std::array kIndexOperators = {
    OperatorEntry{"GatherElements", lower_gather_elements, "gather_elements"},
    OperatorEntry{"GatherND", lower_gather_nd, "slice add gather"},
    OperatorEntry{"ScatterND", lower_scatter_nd, "concat gather", kLast},
    OperatorEntry{"ScatterElements", lower_scatter_elements, "concat gather", kLast},
    OperatorEntry{"OneHot", lower_one_hot, "compare where",
                  "constant depth and values of any type; no gradient passes"}};

}  // namespace

std::span<const OperatorEntry> index_operators() {
  return kIndexOperators;
}

}  // namespace pantoum::import
