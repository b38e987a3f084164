// f(concat(a, b), concat(c, d)) = concat(f(a, c), f(b, d)) where f works element by element.
//   where    every input of f that is no single number is a concat along one dimension with the same extents
//   not      broadcast operands; joins whose parts have other extents
//   inverse  raise-concat
#include "rewrite/pointwise_moves.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> sink_concat(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const auto full = full_inputs_by(graph, op, Kind::k_concat, [&](const ir::Op& a, const ir::Op& b) {
    if (a.attrs != b.attrs || a.inputs.size() != b.inputs.size()) return false;
    for (size_t part = 0; part < a.inputs.size(); ++part)
      if (graph.value(a.inputs[part]).type.shape != graph.value(b.inputs[part]).type.shape) return false;
    return true;
  });
  if (!full) return std::nullopt;
  const ir::Op& joined = *maker_of(graph, op.inputs[full->front()]);
  if (joined.inputs.size() < 2) return std::nullopt;
  Edit edit(graph, at);
  std::vector<ir::ValueId> parts;
  for (size_t part = 0; part < joined.inputs.size(); ++part)
    parts.push_back(moved(edit, op, *full, edit.type(joined.inputs[part]).shape,
                          [&](ir::ValueId input) { return maker_of(graph, input)->inputs[part]; }));
  edit.replace(op.outputs[0], edit.op(Kind::k_concat, op.name + ".concat", std::move(parts), joined.attrs));
  return edit.done();
}

}  // namespace

const Rule kSinkConcat{"sink-concat", "a pointwise op behind a concat is done on each part", Preserves::kBits, 0, false,
                       sink_concat};

}  // namespace pantoum::rewrite
