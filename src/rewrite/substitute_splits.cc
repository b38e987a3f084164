// A split of a piece of a split along one dimension is a split into more pieces. Elements move and none is changed.
//   where    the outer split alone reads the piece
//   not      more pieces than an op may have (its own rule refuses them); other dimensions
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> merge_splits(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_split || !is_ordinary(op)) return std::nullopt;
  const ir::Op* inner = maker_of(graph, op.inputs[0], Kind::k_split);
  if (inner == nullptr || inner->attrs != op.attrs || !is_read_by_one(graph, op.inputs[0])) return std::nullopt;
  std::vector<ir::ValueId> pieces;
  for (const ir::ValueId piece : inner->outputs) {
    if (piece == op.inputs[0]) {
      pieces.insert(pieces.end(), op.outputs.begin(), op.outputs.end());
    } else {
      pieces.push_back(piece);
    }
  }
  Edit edit(graph, at);
  const auto made = edit.add(Kind::k_split, inner->name, inner->inputs, op.attrs, ir::types_of(graph, pieces));
  for (size_t piece = 0; piece < pieces.size() && piece < made.size(); ++piece)
    edit.replace(pieces[piece], made[piece]);
  return edit.done();
}

}  // namespace

const Rule kMergeSplits{"merge-splits", "a split of a piece of a split is one split", Preserves::kBits, 0, false,
                        merge_splits};

}  // namespace pantoum::rewrite
