// What is read and written at indices: GatherElements, GatherND, OneHot, ScatterElements, ScatterND.

#include <numeric>

#include "import/operators.h"

namespace pantoum::import {
namespace {

Result<int64_t> within(int64_t index, int64_t extent) {
  const int64_t at = index < 0 ? index + extent : index;
  if (at < 0 || at >= extent) return misfit("a constant index is out of range");
  return at;
}

Result<void> lower_gather_elements(Node& node) {
  const Value x = node.value(0), indices = node.value(1);
  PANTOUM_ASSIGN(const size_t axis, node.axis(x.rank()));
  return node.set(gather_elements(x, indices, axis));
}

// Tuples of indices, as GatherND and ScatterND have them in their second input. The first `batch` dimensions of data and tuples are the
// same samples, the next `depth` of the data are indexed: a tuple names a row of what is behind them.
struct Tuples {
  size_t batch = 0, depth = 0;
  Shape data;
  int64_t count = 1, inner = 1;  // rows of all samples, and elements of a row

  Tuples(Shape of, size_t samples, size_t indices) : batch(samples), depth(indices), data(std::move(of)) {
    for (size_t d = 0; d < data.size(); ++d) (d < batch + depth ? count : inner) *= data[d];
  }
};

// The rows that constant indices name, without samples. E0211 where one is out of range.
Result<Integers> named_rows(Node& node, const Tuples& tuples) {
  const Integers indices = node.integer_elements(1, "indices");
  Integers rows;
  for (size_t tuple = 0; tuple + tuples.depth <= indices.size(); tuple += tuples.depth) {
    int64_t row = 0;
    for (size_t d = 0; d < tuples.depth; ++d) {
      PANTOUM_ASSIGN(const int64_t at, within(indices[tuple + d], tuples.data[d]));
      row = row * tuples.data[d] + at;
    }
    rows.push_back(row);
  }
  return rows;
}

Value row_constant(Node& node, const Integers& rows) {
  const auto count = static_cast<int64_t>(rows.size());
  return node.spend(count) ? node.whole(DType::kI64, {count}, rows) : node.at(ir::kNone);
}

// Index `d` of every tuple, in the shape of the tuples without their last dimension.
Value index_of_tuples(const Value& tuples, size_t d) {
  if (!tuples) return tuples;
  TensorType type = tuples.type();
  Attrs places;
  for (size_t at = 0; at < type.shape.size(); ++at)
    places.ints.insert(places.ints.end(), {at + 1 == type.shape.size() ? static_cast<int64_t>(d) : 0, 1});
  type.shape.back() = 1;
  const Value one = tuples.in().op(Kind::k_slice, {tuples}, std::move(places), {type});
  type.shape.pop_back();
  return reshape(one, type.shape);
}

// The rows that indices name which the model computes, in the shape of the tuples without their last dimension. Each index is looked up in
// a table of how far it leads, by which the kernel refuses one that is out of range.
Value computed_rows(Node& node, const Tuples& tuples) {
  const Value indices = node.value(1);
  int64_t step = 1;
  Value row;
  for (size_t d = tuples.depth; d-- > 0;) {
    const int64_t extent = tuples.data[tuples.batch + d];
    const Value index = index_of_tuples(indices, d);
    if (!node.spend(extent)) return node.at(ir::kNone);
    const Value far = gather(node.positions(extent, {extent}, 0, step), index, 0);
    step *= extent;
    row = row ? row + far : far;
  }
  if (tuples.batch == 0) return row;
  int64_t samples = 1;
  Shape shape(indices.rank() - 1, 1);
  for (size_t d = 0; d < tuples.batch; ++d) samples *= shape[d] = tuples.data[d];
  if (!node.spend(samples)) return node.at(ir::kNone);
  return row + node.positions(samples, shape, 0, step);
}

Result<void> lower_gather_nd(Node& node) {
  const Value x = node.value(0), indices = node.value(1);
  const Shape data = x.shape();
  Shape shape = indices.shape();
  const int64_t batch = node.attributes().integer("batch_dims", 0), rank = static_cast<int64_t>(data.size());
  const int64_t depth = shape.empty() ? 0 : shape.back();
  const bool fits = batch >= 0 && batch < static_cast<int64_t>(shape.size()) && depth >= 1 && batch <= rank &&
                    depth <= rank - batch && std::equal(data.begin(), data.begin() + batch, shape.begin());
  if (!fits) return misfit("its indices do not fit its input");
  shape.pop_back();
  shape.insert(shape.end(), data.begin() + batch + depth, data.end());
  const Tuples tuples(data, static_cast<size_t>(batch), static_cast<size_t>(depth));
  const bool constant = node.setting(1) != nullptr;
  if (batch == 0 && depth == 1 && !constant) return node.set(gather(x, index_of_tuples(indices, 0), 0));
  if (batch == 0 && constant) {
    PANTOUM_ASSIGN(const Integers named, named_rows(node, tuples));
    const Value table = reshape(x, {tuples.count, tuples.inner});
    return node.set(reshape(gather(table, row_constant(node, named), 0), shape));
  }
  const Value row = computed_rows(node, tuples);
  return node.set(reshape(gather(reshape(x, {tuples.count, tuples.inner}), row, 0), shape));
}

// Each index, and the same from the end, against all classes.
Result<void> lower_one_hot(Node& node) {
  const Value told = node.value(0);
  const bool signed_type = told.dtype() == DType::kI64 || told.dtype() == DType::kI32;  // which holds a negative class
  const Value indices = signed_type ? told : cast(told, DType::kI64);
  const std::optional<double> wanted = node.scalar(1);
  if (!wanted) return unsupported("its depth is not constant", "give the number of classes as a fixed number");
  if (!(*wanted >= 1 && *wanted <= INT32_MAX)) return misfit("its depth is out of range");
  const auto depth = static_cast<int64_t>(*wanted);
  Shape shape = told.shape();
  PANTOUM_ASSIGN(const size_t axis, node.axis(shape.size() + 1, -1));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  const Value apart = reshape(indices, shape);
  const Tensor* values = node.setting(2);
  if (values == nullptr || values->type.elements() != 2) return unsupported("its values are not two constant numbers");
  const DType dtype = runtime_dtype(values->type.dtype);
  const auto value = [&](size_t which) {
    if (const auto reals = to_reals(*values)) return node.constant(dtype, {}, {(*reals)[which]});
    return node.whole(dtype, {}, {(*to_ints(*values))[which]});
  };
  const Value off = value(0), on = value(1);
  Shape along(shape.size(), 1);
  along[axis] = depth;
  if (!node.spend(2 * depth)) return node.refusal();
  const Value hit = compare(apart, PT_COMPARE_EQUAL, node.positions(depth, along, 0, 1, indices.dtype()));
  const Value from_end = compare(apart, PT_COMPARE_EQUAL, node.positions(depth, along, -depth, 1, indices.dtype()));
  return node.set(where(compare(hit, PT_COMPARE_OR, from_end), on, off));
}

Result<int64_t> read_reduction(Node& node) {
  constexpr std::array kNames = {"none", "add", "mul", "max", "min"};  // in the order of PT_SCATTER_*
  const std::string name = node.attributes().text("reduction", "none");
  for (size_t at = 0; at < kNames.size(); ++at)
    if (name == kNames[at]) return static_cast<int64_t>(at);
  return misfit("its reduction is '{}'", name);
}

Result<void> check_scatter(Node& node) {
  for (const size_t input : {0u, 1u, 2u}) std::ignore = node.value(input);
  return node.refusal();
}

// Are whole rows replaced, of which constant indices name each? Larger tables are scattered at run time.
bool is_replaced(const Node& node, int64_t reduction, int64_t rows) {
  constexpr int64_t kMostReplaced = 1 << 20;
  return reduction == PT_SCATTER_LAST && node.setting(1) != nullptr && rows <= kMostReplaced;
}

// Rows of the data, but where one is named the last update of it: both tables are joined and read through constant indices.
Result<void> replace_rows(Node& node, int64_t count, int64_t inner, const Integers& named) {
  Integers from(static_cast<size_t>(count));
  std::iota(from.begin(), from.end(), int64_t{0});
  for (size_t update = 0; update < named.size(); ++update)
    from[static_cast<size_t>(named[update])] = count + static_cast<int64_t>(update);
  const Value old_rows = reshape(node.value(0), {count, inner});
  const Value new_rows = reshape(node.value(2), {static_cast<int64_t>(named.size()), inner});
  const Value both = node.op(Kind::k_concat, {old_rows, new_rows}, {{0}, {}});
  return node.set(reshape(gather(both, row_constant(node, from), 0), node.shape(0)));
}

Result<void> lower_scatter_nd(Node& node) {
  PANTOUM_TRY(check_scatter(node));
  PANTOUM_ASSIGN(const int64_t reduction, read_reduction(node));
  const Shape data = node.shape(0), indices = node.shape(1);
  const int64_t depth = indices.empty() ? 0 : indices.back();
  if (depth < 1 || depth > static_cast<int64_t>(data.size())) return misfit("its indices do not fit its input");
  Shape wanted(indices.begin(), indices.end() - 1);
  wanted.insert(wanted.end(), data.begin() + depth, data.end());
  if (node.shape(2) != wanted) return misfit("its updates do not fit its indices");
  const Tuples tuples(data, 0, static_cast<size_t>(depth));
  Integers named;
  if (node.setting(1) != nullptr) {
    PANTOUM_ASSIGN(named, named_rows(node, tuples));
    if (is_replaced(node, reduction, tuples.count)) return replace_rows(node, tuples.count, tuples.inner, named);
  }
  Value rows = node.setting(1) != nullptr ? row_constant(node, named)
               : depth == 1               ? index_of_tuples(node.value(1), 0)
                                          : computed_rows(node, tuples);
  const Value table = reshape(node.value(0), {tuples.count, tuples.inner});
  const int64_t count = rows.elements();
  rows = reshape(rows, {count});
  // A row of one element is that element.
  const Value x = reshape(table, tuples.inner == 1 ? Shape{tuples.count} : Shape{tuples.count, tuples.inner});
  const Value updates = reshape(node.value(2), tuples.inner == 1 ? Shape{count} : Shape{count, tuples.inner});
  return node.set(reshape(scatter(x, rows, updates, 0, reduction), data));
}

// The element that each constant index names.
Result<Integers> named_elements(Node& node, const Shape& data, const Shape& extents, size_t axis) {
  const Integers indices = node.integer_elements(1, "indices");
  Integers named;
  for (size_t element = 0; element < indices.size(); ++element) {
    int64_t rest = static_cast<int64_t>(element), row = 0, step = 1;
    for (size_t d = data.size(); d-- > 0;) {
      PANTOUM_ASSIGN(const int64_t at, within(d == axis ? indices[element] : rest % extents[d], data[d]));
      row += at * step;
      rest /= extents[d];
      step *= data[d];
    }
    named.push_back(row);
  }
  return named;
}

Result<void> lower_scatter_elements(Node& node) {
  PANTOUM_TRY(check_scatter(node));
  PANTOUM_ASSIGN(const int64_t reduction, read_reduction(node));
  const Shape data = node.shape(0), extents = node.shape(1);
  PANTOUM_ASSIGN(const size_t axis, node.axis(data.size()));
  if (extents.size() != data.size()) return misfit("its indices have another rank than its input");
  if (node.shape(2) != extents) return misfit("its updates do not fit its indices");
  if (is_replaced(node, reduction, node.type(0).elements())) {
    PANTOUM_ASSIGN(const Integers named, named_elements(node, data, extents, axis));
    return replace_rows(node, node.type(0).elements(), 1, named);
  }
  const Tensor* zeros = node.setting(0);
  if (reduction == PT_SCATTER_LAST && zeros != nullptr && node.setting(1) == nullptr && node.setting(2) == nullptr &&
      is_filled_with(*zeros, 0))
    node.note(
        "where an index occurs twice it keeps the last update; PyTorch's older exporter writes index_add so, which "
        "adds them");
  const Value x = node.value(0), indices = node.value(1);
  return node.set(scatter(x, indices, node.value(2), axis, reduction));
}

constexpr const char* kScattered =
    "any type, bool without add and mul; of several updates that replace an element the last holds, and takes "
    "the gradient";
constexpr OperatorEntry kIndexOperators[] = {
    {"GatherElements", lower_gather_elements, "gather_elements"},
    {"GatherND", lower_gather_nd, "slice add gather"},
    {"OneHot", lower_one_hot, "compare where", "constant depth and values of any type; no gradient passes"},
    {"ScatterND", lower_scatter_nd, "concat gather slice add scatter_elements", kScattered},
    {"ScatterElements", lower_scatter_elements, "concat gather scatter_elements", kScattered}};

}  // namespace

constinit const Family index_operators = kIndexOperators;

}  // namespace pantoum::import
