// f of every piece of a split = the pieces of f, where f works element by element.
//   where    every piece is read by an op of one kind with the same attributes and single numbers, and where f has several
//            full inputs, they are the same pieces of splits alike
//   not      a piece that another op alone reads, or no op; broadcast operands
//   inverse  raise-split
#include "rewrite/pointwise_moves.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

// The splits whose pieces the op reads at its full inputs, where it reads their first pieces.
std::optional<std::vector<const ir::Op*>> splits_of(const ir::Graph& graph, const ir::Op& op,
                                                    const std::vector<size_t>& full) {
  std::vector<const ir::Op*> splits;
  for (const size_t input : full) {
    splits.push_back(maker_of(graph, op.inputs[input]));
    if (splits.back()->outputs[0] != op.inputs[input]) return std::nullopt;
  }
  return splits;
}

// The op's like that reads another piece of the same splits.
const ir::Op* like_on_piece(const ir::Graph& graph, const ir::Op& op, const std::vector<size_t>& full,
                            const std::vector<const ir::Op*>& splits, size_t piece) {
  std::vector<ir::ValueId> inputs = op.inputs;
  for (size_t at = 0; at < full.size(); ++at) inputs[full[at]] = splits[at]->outputs[piece];
  for (const ir::OpId reader : readers_of(graph, inputs[full[0]])) {
    const ir::Op& other = graph.op(reader);
    if (other.kind == op.kind && other.attrs == op.attrs && other.inputs == inputs && is_pointwise(other) &&
        graph.value(other.outputs[0]).type.dtype == graph.value(op.outputs[0]).type.dtype)
      return &other;
  }
  return nullptr;
}

std::optional<ir::Graph> sink_split(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const auto full = full_inputs_by(graph, op, Kind::k_split, [&](const ir::Op& a, const ir::Op& b) {
    if (a.attrs != b.attrs || a.outputs.size() != b.outputs.size()) return false;
    for (size_t piece = 0; piece < a.outputs.size(); ++piece)
      if (graph.value(a.outputs[piece]).type.shape != graph.value(b.outputs[piece]).type.shape) return false;
    return true;
  });
  if (!full) return std::nullopt;
  const auto splits = splits_of(graph, op, *full);
  if (!splits || splits->front()->outputs.size() < 2) return std::nullopt;
  std::vector<const ir::Op*> ops{&op};
  for (size_t piece = 1; piece < splits->front()->outputs.size(); ++piece) {
    ops.push_back(like_on_piece(graph, op, *full, *splits, piece));
    if (ops.back() == nullptr) return std::nullopt;
  }
  Edit edit(graph, at);
  const ir::ValueId y = moved(edit, op, *full, edit.type(splits->front()->inputs[0]).shape,
                              [&](ir::ValueId input) { return maker_of(graph, input)->inputs[0]; });
  std::vector<ir::TensorType> types;
  types.reserve(ops.size());
  for (const ir::Op* each : ops) types.push_back(edit.type(each->outputs[0]));
  const auto pieces = edit.add(Kind::k_split, op.name + ".split", {y}, splits->front()->attrs, types);
  for (size_t piece = 0; piece < ops.size() && piece < pieces.size(); ++piece)
    edit.replace(ops[piece]->outputs[0], pieces[piece]);
  return edit.done();
}

}  // namespace

const Rule kSinkSplit{
    "sink-split", "the same pointwise op on all pieces of a split is done before it", Preserves::kBits, 0, false,
    sink_split};

}  // namespace pantoum::rewrite
