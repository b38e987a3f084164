#include "rewrite/pointwise_moves.h"

namespace pantoum::rewrite {

std::optional<PointwiseMaker> pointwise_maker(const ir::Graph& graph, ir::ValueId value) {
  const ir::Op* op = maker_of(graph, value);
  if (op == nullptr || !is_pointwise(*op)) return std::nullopt;
  auto full = full_inputs(graph, *op);
  if (!full || !is_read_by_one(graph, value)) return std::nullopt;
  return PointwiseMaker{op, *std::move(full)};
}

}  // namespace pantoum::rewrite
