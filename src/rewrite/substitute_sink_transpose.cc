// f(T x, T y) = T f(x, y) where f works element by element: the same numbers go through f, at other places.
//   where    every input of f that is no single number is a transpose by the same permutation
//   not      broadcast operands; dropout, whose draws go by place
//   inverse  raise-transpose
#include "rewrite/pointwise_moves.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> sink_transpose(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const auto full =
      full_inputs_by(graph, op, Kind::k_transpose, [](const ir::Op& a, const ir::Op& b) { return a.attrs == b.attrs; });
  if (!full) return std::nullopt;
  const ir::Op& transpose = *maker_of(graph, op.inputs[full->front()]);
  const ir::Shape before = graph.value(transpose.inputs[0]).type.shape;
  Edit edit(graph, at);
  const ir::ValueId y =
      moved(edit, op, *full, before, [&](ir::ValueId input) { return maker_of(graph, input)->inputs[0]; });
  edit.replace(op.outputs[0], edit.op(Kind::k_transpose, op.name + ".transpose", {y}, transpose.attrs));
  return edit.done();
}

}  // namespace

const Rule kSinkTranspose{
    "sink-transpose", "transposes before a pointwise op become one behind it", Preserves::kBits, 0, false,
    sink_transpose};

}  // namespace pantoum::rewrite
