// f(view x, view y) = view f(x, y) where f works element by element and the views are of one shape and give one shape:
// element e stays element e.
//   where    every input of f that is no single number is such a view
//   not      broadcast operands; views of different shapes
//   inverse  raise-reshape
#include "rewrite/pointwise_moves.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> sink_reshape(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const auto shape_before = [&](const ir::Op& view) -> const ir::Shape& {
    return graph.value(view.inputs[0]).type.shape;
  };
  const auto full = full_inputs_by(
      graph, op, Kind::k_alias, [&](const ir::Op& a, const ir::Op& b) { return shape_before(a) == shape_before(b); });
  if (!full) return std::nullopt;
  const ir::Shape before = shape_before(*maker_of(graph, op.inputs[full->front()]));
  if (before == graph.value(op.outputs[0]).type.shape) return std::nullopt;  // drop-identities
  Edit edit(graph, at);
  const ir::ValueId y =
      moved(edit, op, *full, before, [&](ir::ValueId input) { return maker_of(graph, input)->inputs[0]; });
  edit.replace(op.outputs[0], edit.reshape(op.name + ".reshape", y, edit.type(op.outputs[0]).shape));
  return edit.done();
}

}  // namespace

const Rule kSinkReshape{"sink-reshape", "views before a pointwise op become one behind it", Preserves::kBits, 0, false,
                        sink_reshape};

}  // namespace pantoum::rewrite
