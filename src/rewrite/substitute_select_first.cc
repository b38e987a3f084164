// What picks elements (slice, gather, gather_elements) of f = f of what it picks, where f works element by element: the
// picked elements go through f alone.
//   where    it alone reads what f makes, and picks fewer elements than there are
//   not      broadcast operands; picks of as many elements or more (select-last)
#include "rewrite/pointwise_moves.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

bool picks(Kind kind) {
  return kind == Kind::k_slice || kind == Kind::k_gather || kind == Kind::k_gather_elements;
}

std::optional<ir::Graph> select_first(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (!picks(op.kind) || !is_ordinary(op)) return std::nullopt;
  const ir::TensorType& picked = graph.value(op.outputs[0]).type;
  if (picked.elements() >= graph.value(op.inputs[0]).type.elements()) return std::nullopt;
  const auto f = pointwise_maker(graph, op.inputs[0]);
  if (!f) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], moved(edit, *f->op, f->full, picked.shape, [&](ir::ValueId input) {
                 std::vector<ir::ValueId> inputs = op.inputs;
                 inputs[0] = input;
                 return edit.op(op.kind, op.name, inputs, op.attrs, {{edit.type(input).dtype, picked.shape}});
               }));
  return edit.done();
}

}  // namespace

const Rule kSelectFirst{"select-first",
                        "what a slice or gather leaves is all that a pointwise op before it computes",
                        Preserves::kBits,
                        0,
                        false,
                        select_first};

}  // namespace pantoum::rewrite
