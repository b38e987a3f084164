// A transpose that moves dimensions of 1 alone past others keeps every element's place: it is a view.
//   where    the dimensions that are not 1 keep their order
//   not      transposes that move an element; those that move no dimension at all (drop-identities)
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> transpose_as_reshape(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_transpose || !is_ordinary(op)) return std::nullopt;
  const ir::TensorType &from = graph.value(op.inputs[0]).type, &to = graph.value(op.outputs[0]).type;
  int64_t last = -1;
  bool moves = false;
  for (size_t d = 0; d < op.attrs.ints.size(); ++d) {
    const int64_t source = op.attrs.ints[d];
    moves = moves || source != static_cast<int64_t>(d);
    if (from.shape[static_cast<size_t>(source)] == 1) continue;
    if (source < last) return std::nullopt;
    last = source;
  }
  if (!moves) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], edit.op(Kind::k_alias, op.name, {op.inputs[0]}, {}, {to}));
  return edit.done();
}

}  // namespace

const Rule kTransposeAsReshape{
    "transpose-as-reshape", "a transpose that moves dimensions of 1 alone becomes a view", Preserves::kBits, 0, false,
    transpose_as_reshape};

}  // namespace pantoum::rewrite
