// view f(x, y) = f(view x, view y) where f works element by element: element e stays element e.
//   where    the view alone reads what f makes
//   not      broadcast operands
//   inverse  sink-reshape
#include "rewrite/pointwise_moves.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> raise_reshape(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_alias || !is_ordinary(op)) return std::nullopt;
  const ir::Shape shape = graph.value(op.outputs[0]).type.shape;
  if (shape == graph.value(op.inputs[0]).type.shape) return std::nullopt;  // drop-identities
  const auto f = pointwise_maker(graph, op.inputs[0]);
  if (!f) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], moved(edit, *f->op, f->full, shape,
                                    [&](ir::ValueId input) { return edit.reshape(op.name, input, shape); }));
  return edit.done();
}

}  // namespace

const Rule kRaiseReshape{"raise-reshape", "a view behind a pointwise op goes before it", Preserves::kBits, 0, false,
                         raise_reshape};

}  // namespace pantoum::rewrite
