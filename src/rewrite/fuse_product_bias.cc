#include <vector>

#include "rewrite/fusions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;
using ir::ValueId;

// The product that an addition adds a bias to, and which of the two is which; null: it is another addition.
const ir::Op* product_of(const ir::Graph& graph, const ir::Op& add, size_t product,
                         const std::vector<std::vector<ir::OpId>>& users) {
  const ir::Value& sum = graph.value(add.outputs[0]);
  const ValueId y = add.inputs[product], bias = add.inputs[1 - product];
  const ir::Value &made = graph.value(y), &vector = graph.value(bias);
  if (made.producer == ir::kNone || users[static_cast<size_t>(y)].size() != 1 || made.type != sum.type) return nullptr;
  const ir::Op& op = graph.op(made.producer);
  if (op.kind != Kind::k_matmul || op.inputs.size() != 2) return nullptr;
  const bool fits = vector.producer == ir::kNone && vector.role != ir::Role::kInput && vector.type.shape.size() == 1 &&
                    vector.type.shape[0] == made.type.shape.back();
  return fits ? &op : nullptr;
}

}  // namespace

ir::Graph fuse_product_bias(ir::Graph graph) {
  const auto users = ir::users_of(graph);
  for (ir::Op& add : graph.ops) {
    if (add.kind != Kind::k_add) continue;
    for (const size_t product : {size_t{0}, size_t{1}}) {
      const ir::Op* found = product_of(graph, add, product, users);
      if (found == nullptr) continue;
      add.inputs = {found->inputs[0], found->inputs[1], add.inputs[1 - product]};
      add.attrs = found->attrs;
      add.kind = Kind::k_matmul;
      break;
    }
  }
  ir::drop_dead_ops(graph);
  return graph;
}

}  // namespace pantoum::rewrite
