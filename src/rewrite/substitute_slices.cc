// A slice of a slice is a slice: element k of the outer one is element s2 + k t2 of the inner one, which is element
// s1 + (s2 + k t2) t1 of the input. Elements move and none is changed.
//   where    any starts and steps; the inner slice may have other readers
//   not      steps whose product leaves 32 bits (the op's own rule refuses them)
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> merge_slices(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_slice || !is_ordinary(op)) return std::nullopt;
  const ir::Op* inner = maker_of(graph, op.inputs[0], Kind::k_slice);
  if (inner == nullptr) return std::nullopt;
  ir::Attrs attrs = op.attrs;
  const ir::TensorType& type = graph.value(op.outputs[0]).type;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    const int64_t start = inner->attrs.ints[2 * d], step = inner->attrs.ints[2 * d + 1];
    attrs.ints[2 * d] = start + op.attrs.ints[2 * d] * step;
    attrs.ints[2 * d + 1] = type.shape[d] == 1 ? 1 : op.attrs.ints[2 * d + 1] * step;
  }
  Edit edit(graph, at);
  edit.replace(op.outputs[0], edit.op(Kind::k_slice, op.name, {inner->inputs[0]}, attrs, {type}));
  return edit.done();
}

}  // namespace

const Rule kMergeSlices{"merge-slices", "a slice of a slice is one slice", Preserves::kBits, 0, false, merge_slices};

}  // namespace pantoum::rewrite
