// f of what a gather picks = what the gather picks of f, where f works element by element: f sees each row once, however
// often it is picked.
//   where    every input of f that is no single number is a gather with the same indices and axis, of fewer elements than
//            it gives
//   not      broadcast operands; gathers that pick fewer elements than there are (select-first)
#include "rewrite/pointwise_moves.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> select_last(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const auto shape_of_rows = [&](const ir::Op& gather) -> const ir::Shape& {
    return graph.value(gather.inputs[0]).type.shape;
  };
  const auto full = full_inputs_by(graph, op, Kind::k_gather, [&](const ir::Op& a, const ir::Op& b) {
    return a.attrs == b.attrs && a.inputs[1] == b.inputs[1] && shape_of_rows(a) == shape_of_rows(b);
  });
  if (!full) return std::nullopt;
  const ir::Op& gather = *maker_of(graph, op.inputs[full->front()]);
  if (graph.value(gather.inputs[0]).type.elements() >= graph.value(op.outputs[0]).type.elements()) return std::nullopt;
  Edit edit(graph, at);
  const ir::ValueId rows = moved(edit, op, *full, shape_of_rows(gather),
                                 [&](ir::ValueId input) { return maker_of(graph, input)->inputs[0]; });
  edit.replace(op.outputs[0], edit.op(Kind::k_gather, op.name + ".gather", {rows, gather.inputs[1]}, gather.attrs));
  return edit.done();
}

}  // namespace

const Rule kSelectLast{
    "select-last", "a pointwise op behind a gather that repeats rows is done before it", Preserves::kBits, 0, false,
    select_last};

}  // namespace pantoum::rewrite
