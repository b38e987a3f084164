#include "autodiff/sparse_update.h"

namespace pantoum::autodiff {

using ir::Kind;
using ir::ValueId;

std::optional<ValueId> append_row_update(ir::Builder& builder, const Sgd& sgd, ValueId parameter, ValueId gradient) {
  const ir::Graph& graph = builder.graph();
  const ir::OpId producer = graph.value(gradient).producer;
  if (sgd.momentum != 0 || sgd.weight_decay != 0 || producer == ir::kNone) return std::nullopt;
  const ir::Op& made = graph.op(producer);
  if (made.kind != Kind::k_gather_grad || made.attrs.ints[0] != 0) return std::nullopt;
  const ValueId dy = made.inputs[0], indices = made.inputs[1];
  return builder.op(Kind::k_sgd_rows, graph.value(parameter).name + ".sgd_rows", {parameter, indices, dy});
}

}  // namespace pantoum::autodiff
