// Dropout is the identity where nothing trains.
//   where    inference
//   not      training, where it draws; random, which is no dropout
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> drop_dropout(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_dropout || !op.alternatives.empty()) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], op.inputs[0]);
  return edit.done();
}

}  // namespace

const Rule kDropDropout{"drop-dropout", "dropout goes where nothing trains", Preserves::kValues, 1e-7, true,
                        drop_dropout};

}  // namespace pantoum::rewrite
