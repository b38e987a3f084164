// ScatterElements and ScatterND.
#include <fmt/format.h>

#include <array>
#include <numeric>

#include "import/operators.h"
#include "import/row_indices.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

Result<int64_t> read_reduction(Node& node) {
  constexpr std::array kNames = {"none", "add", "mul", "max", "min"};  // in the order of PT_SCATTER_*
  const std::string name = node.attributes().text("reduction", "none");
  for (size_t at = 0; at < kNames.size(); ++at) {
    if (name == kNames[at]) return static_cast<int64_t>(at);
  }
  return fail("E0211", fmt::format("its reduction is '{}'", name));
}

// Rows of the data, but where one is named the last update of it: both tables are joined and read through constant
// indices.
Result<void> replace_named(Node& node, const Rows& rows) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  PANTOUM_ASSIGN(const ValueId updates, node.value(2));
  const auto named = static_cast<int64_t>(rows.named.size());
  std::vector<int64_t> from(static_cast<size_t>(rows.count));
  std::iota(from.begin(), from.end(), int64_t{0});
  for (size_t update = 0; update < rows.named.size(); ++update) {
    from[static_cast<size_t>(rows.named[update])] = rows.count + static_cast<int64_t>(update);
  }
  PANTOUM_ASSIGN(const ValueId old_rows, node.reshape(x, {rows.count, rows.inner}));
  PANTOUM_ASSIGN(const ValueId new_rows, node.reshape(updates, {named, rows.inner}));
  PANTOUM_ASSIGN(const ValueId both, node.op(Kind::k_concat, {old_rows, new_rows}, {{0}, {}}));
  PANTOUM_ASSIGN(const ValueId read, row_constant(node, from));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_gather, {both, read}, {{0}, {}}));
  PANTOUM_ASSIGN(y, node.reshape(y, node.shape(0)));
  node.set(0, y);
  return {};
}

// Larger tables are scattered at run time.
constexpr int64_t kMostReplaced = 1 << 20;

bool is_replaced(const Node& node, int64_t reduction, int64_t rows) {
  return reduction == PT_SCATTER_LAST && node.setting(1) != nullptr && rows <= kMostReplaced;
}

Result<void> check_scatter(Node& node) {
  if (!node.has(0) || !node.has(1) || !node.has(2)) return fail("E0211", "it does not have three inputs");
  for (const size_t input : {size_t{0}, size_t{1}, size_t{2}}) PANTOUM_TRY(node.value(input));
  return {};
}

// Updates of whole rows; a row of one element is that element.
Result<void> scatter_rows(Node& node, ValueId rows, size_t depth, int64_t reduction) {
  PANTOUM_ASSIGN(ValueId x, node.value(0));
  PANTOUM_ASSIGN(ValueId updates, node.value(2));
  const Shape data = node.shape(0);
  PANTOUM_ASSIGN(x, as_rows(node, x, depth));
  const Shape table = node.builder().type(x).shape;
  const int64_t count = node.builder().type(rows).elements();
  PANTOUM_ASSIGN(rows, node.reshape(rows, {count}));
  PANTOUM_ASSIGN(x, node.reshape(x, table[1] == 1 ? Shape{table[0]} : table));
  PANTOUM_ASSIGN(updates, node.reshape(updates, table[1] == 1 ? Shape{count} : Shape{count, table[1]}));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_scatter_elements, {x, rows, updates}, {{0, reduction}, {}}));
  PANTOUM_ASSIGN(y, node.reshape(y, data));
  node.set(0, y);
  return {};
}

Result<ValueId> rows_of_tuples(Node& node, const Shape& data, size_t depth) {
  if (node.setting(1) != nullptr) {
    PANTOUM_ASSIGN(const Rows rows, named_rows(node, data, depth));
    return row_constant(node, rows.named);
  }
  PANTOUM_ASSIGN(const ValueId indices, node.value(1));
  return depth == 1 ? index_of_tuples(node, indices, 0) : computed_rows(node, data, 0, depth);
}

Result<void> lower_scatter_nd(Node& node) {
  PANTOUM_TRY(check_scatter(node));
  PANTOUM_ASSIGN(const int64_t reduction, read_reduction(node));
  const Shape data = node.shape(0), indices = node.shape(1);
  const int64_t told = indices.empty() ? 0 : indices.back(), rank = static_cast<int64_t>(data.size());
  if (told < 1 || told > rank) return fail("E0211", "its indices do not fit its input");
  Shape wanted(indices.begin(), indices.end() - 1);
  wanted.insert(wanted.end(), data.begin() + told, data.end());
  if (node.shape(2) != wanted) return fail("E0211", "its updates do not fit its indices");
  const auto depth = static_cast<size_t>(told);
  int64_t count = 1;
  for (size_t d = 0; d < depth; ++d) count *= data[d];
  if (is_replaced(node, reduction, count)) {
    PANTOUM_ASSIGN(const Rows rows, named_rows(node, data, depth));
    return replace_named(node, rows);
  }
  PANTOUM_ASSIGN(const ValueId rows, rows_of_tuples(node, data, depth));
  return scatter_rows(node, rows, depth, reduction);
}

// The element that each constant index names.
Result<Rows> named_elements(Node& node, const Shape& data, const Shape& extents, size_t axis) {
  const std::vector<int64_t> indices = to_ints(*node.setting(1)).value_or(std::vector<int64_t>());
  Rows rows;
  for (const int64_t extent : data) rows.count *= extent;
  for (size_t element = 0; element < indices.size(); ++element) {
    int64_t rest = static_cast<int64_t>(element), row = 0, step = 1;
    for (size_t d = data.size(); d-- > 0;) {
      const int64_t index = d == axis ? indices[element] : rest % extents[d];
      const int64_t at = index < 0 ? index + data[d] : index;
      if (at < 0 || at >= data[d]) return fail("E0211", "a constant index is out of range");
      row += at * step;
      rest /= extents[d];
      step *= data[d];
    }
    rows.named.push_back(row);
  }
  return rows;
}

// Computed updates of zeros at computed places.
bool may_have_added(const Node& node, int64_t reduction) {
  const Tensor* data = node.setting(0);
  return reduction == PT_SCATTER_LAST && data != nullptr && node.setting(1) == nullptr && node.setting(2) == nullptr &&
         ir::is_float(data->type.dtype) && is_filled_with(*data, 0);
}

Result<void> lower_scatter_elements(Node& node) {
  PANTOUM_TRY(check_scatter(node));
  PANTOUM_ASSIGN(const int64_t reduction, read_reduction(node));
  const Shape data = node.shape(0), extents = node.shape(1);
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", 0), data.size()));
  if (extents.size() != data.size()) return fail("E0211", "its indices have another rank than its input");
  if (node.shape(2) != extents) return fail("E0211", "its updates do not fit its indices");
  if (is_replaced(node, reduction, node.type(0).elements())) {
    PANTOUM_ASSIGN(const Rows rows, named_elements(node, data, extents, static_cast<size_t>(axis)));
    return replace_named(node, rows);
  }
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  PANTOUM_ASSIGN(const ValueId indices, node.value(1));
  PANTOUM_ASSIGN(const ValueId updates, node.value(2));
  if (may_have_added(node, reduction))
    node.note(
        "where an index occurs twice it keeps the last update; PyTorch's older exporter writes index_add so, which "
        "adds them");
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_scatter_elements, {x, indices, updates}, {{axis, reduction}, {}}));
  node.set(0, y);
  return {};
}

constexpr const char* kScattered =
    "any type, bool without add and mul; of several updates that replace an element the last holds, and takes "
    "the gradient";
constexpr std::array kScatterOperators = {
    OperatorEntry{"ScatterND", lower_scatter_nd, "concat gather slice add scatter_elements", kScattered},
    OperatorEntry{"ScatterElements", lower_scatter_elements, "concat gather scatter_elements", kScattered}};

}  // namespace

std::span<const OperatorEntry> scatter_operators() {
  return kScatterOperators;
}

}  // namespace pantoum::import
