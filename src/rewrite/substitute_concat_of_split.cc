// All pieces of a split, joined in their order along the same dimension, are what was split.
//   where    a concat of the outputs of one split, all of them, each once
//   not      some of them, or another order
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> cancel_split(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_concat || !is_ordinary(op)) return std::nullopt;
  const ir::Op* pieces = maker_of(graph, op.inputs[0], Kind::k_split);
  if (pieces == nullptr || pieces->attrs != op.attrs || pieces->outputs != op.inputs) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], pieces->inputs[0]);
  return edit.done();
}

}  // namespace

const Rule kCancelSplit{
    "cancel-split", "a concat of all that a split gave is what was split", Preserves::kBits, 0, false, cancel_split};

}  // namespace pantoum::rewrite
