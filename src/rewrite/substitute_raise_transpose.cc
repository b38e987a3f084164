// T f(x, y) = f(T x, T y) where f works element by element: the same numbers go through f, at other places.
//   where    the transpose alone reads what f makes
//   not      broadcast operands; dropout, whose draws go by place
//   inverse  sink-transpose
#include "rewrite/pointwise_moves.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> raise_transpose(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_transpose || !is_ordinary(op)) return std::nullopt;
  const auto f = pointwise_maker(graph, op.inputs[0]);
  if (!f) return std::nullopt;
  Edit edit(graph, at);
  const ir::Shape shape = edit.type(op.outputs[0]).shape;
  edit.replace(op.outputs[0], moved(edit, *f->op, f->full, shape, [&](ir::ValueId input) {
                 return edit.op(Kind::k_transpose, op.name, {input}, op.attrs);
               }));
  return edit.done();
}

}  // namespace

const Rule kRaiseTranspose{
    "raise-transpose", "a transpose behind a pointwise op goes before it", Preserves::kBits, 0, false, raise_transpose};

}  // namespace pantoum::rewrite
