// A slice that lies in one part of a concat is a slice of that part. Elements move and none is changed.
//   where    first and last element along the concat's dimension, whatever the step, are of one part
//   not      slices over two parts
#include <algorithm>

#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> slice_of_concat(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_slice || !is_ordinary(op)) return std::nullopt;
  const ir::Op* joined = maker_of(graph, op.inputs[0], Kind::k_concat);
  if (joined == nullptr) return std::nullopt;
  const auto axis = static_cast<size_t>(joined->attrs.ints[0]);
  const ir::TensorType& type = graph.value(op.outputs[0]).type;
  const int64_t start = op.attrs.ints[2 * axis], end = start + (type.shape[axis] - 1) * op.attrs.ints[2 * axis + 1];
  int64_t before = 0;
  for (const ir::ValueId part : joined->inputs) {
    const int64_t behind = before + graph.value(part).type.shape[axis];
    if (std::min(start, end) >= before && std::max(start, end) < behind) {
      ir::Attrs attrs = op.attrs;
      attrs.ints[2 * axis] -= before;
      Edit edit(graph, at);
      edit.replace(op.outputs[0], edit.op(Kind::k_slice, op.name, {part}, attrs, {type}));
      return edit.done();
    }
    before = behind;
  }
  return std::nullopt;
}

}  // namespace

const Rule kSliceOfConcat{
    "slice-of-concat", "a slice of one part of a concat is taken from the part", Preserves::kBits, 0, false,
    slice_of_concat};

}  // namespace pantoum::rewrite
