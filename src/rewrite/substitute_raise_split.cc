// The pieces of f = f of every piece, where f works element by element.
//   where    the split alone reads what f makes
//   not      broadcast operands
//   inverse  sink-split
#include "rewrite/pointwise_moves.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> raise_split(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_split || op.outputs.size() < 2 || !is_ordinary(op)) return std::nullopt;
  const auto f = pointwise_maker(graph, op.inputs[0]);
  if (!f) return std::nullopt;
  Edit edit(graph, at);
  std::map<ir::ValueId, std::vector<ir::ValueId>> pieces;
  for (const size_t input : f->full) {
    const ir::ValueId whole = f->op->inputs[input];
    if (pieces.count(whole) != 0) continue;
    std::vector<ir::TensorType> types;
    for (const ir::ValueId output : op.outputs)
      types.push_back({edit.type(whole).dtype, graph.value(output).type.shape});
    pieces[whole] = edit.add(Kind::k_split, op.name, {whole}, op.attrs, types);
  }
  for (size_t piece = 0; piece < op.outputs.size(); ++piece)
    edit.replace(op.outputs[piece],
                 moved(edit, *f->op, f->full, graph.value(op.outputs[piece]).type.shape,
                       [&](ir::ValueId input) { return pieces[input][std::min(piece, pieces[input].size() - 1)]; }));
  return edit.done();
}

}  // namespace

const Rule kRaiseSplit{"raise-split", "a pointwise op before a split is done on each piece", Preserves::kBits, 0, false,
                       raise_split};

}  // namespace pantoum::rewrite
