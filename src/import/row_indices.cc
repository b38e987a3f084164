#include "import/row_indices.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

// The positions [0, extent) times `step`: gathered through an index they tell how far it leads, whether it counts from
// the end, and the kernel refuses one that is out of range.
Result<ValueId> offsets(Node& node, ValueId index, int64_t extent, int64_t step) {
  PANTOUM_TRY(node.spend(extent));
  std::vector<int64_t> far(static_cast<size_t>(extent));
  for (int64_t at = 0; at < extent; ++at) far[static_cast<size_t>(at)] = at * step;
  const ValueId table = node.builder().constant_i64(node.label() + ".offsets", {extent}, far);
  return node.op(Kind::k_gather, {table, index}, {{0}, {}});
}

// The row of every sample's first element, in the shape of the indices without their last dimension or one that
// broadcasts to it.
Result<ValueId> rows_of_samples(Node& node, const Shape& data, size_t batch, int64_t step) {
  int64_t samples = 1;
  Shape shape(node.shape(1).size() - 1, 1);
  for (size_t d = 0; d < batch; ++d) samples *= shape[d] = data[d];
  PANTOUM_TRY(node.spend(samples));
  std::vector<int64_t> first(static_cast<size_t>(samples));
  for (int64_t sample = 0; sample < samples; ++sample) first[static_cast<size_t>(sample)] = sample * step;
  return node.builder().constant_i64(node.label() + ".samples", shape, first);
}

}  // namespace

Result<Rows> named_rows(Node& node, const Shape& data, size_t depth) {
  PANTOUM_ASSIGN(const std::vector<int64_t> indices, node.integer_elements(1, "indices"));
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

Result<ValueId> as_rows(Node& node, ValueId x, size_t depth) {
  const Shape from = node.builder().type(x).shape;
  int64_t count = 1, inner = 1;
  for (size_t d = 0; d < from.size(); ++d) (d < depth ? count : inner) *= from[d];
  return node.reshape(x, {count, inner});
}

Result<ValueId> row_constant(Node& node, const std::vector<int64_t>& rows) {
  const auto count = static_cast<int64_t>(rows.size());
  PANTOUM_TRY(node.spend(count));
  return node.builder().constant_i64(node.label() + ".rows", {count}, rows);
}

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

// The offsets of all dimensions add up to the row.
Result<ValueId> computed_rows(Node& node, const Shape& data, size_t batch, size_t depth) {
  PANTOUM_ASSIGN(const ValueId indices, node.value(1));
  int64_t step = 1;
  ValueId row = ir::kNone;
  for (size_t d = depth; d-- > 0;) {
    PANTOUM_ASSIGN(const ValueId index, index_of_tuples(node, indices, static_cast<int64_t>(d)));
    PANTOUM_ASSIGN(const ValueId far, offsets(node, index, data[batch + d], step));
    step *= data[batch + d];
    if (row == ir::kNone) {
      row = far;
    } else {
      PANTOUM_ASSIGN(row, node.op(Kind::k_add, {row, far}));
    }
  }
  if (batch == 0) return row;
  PANTOUM_ASSIGN(const ValueId samples, rows_of_samples(node, data, batch, step));
  return node.op(Kind::k_add, {row, samples});
}

}  // namespace pantoum::import
