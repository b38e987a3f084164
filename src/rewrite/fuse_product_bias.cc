
#include "rewrite/edit.h"
#include "rewrite/passes.h"

namespace pantoum::rewrite {
namespace {

// The product that an addition adds a bias to, and which of the two is which; null: it is another addition.
const Op* product_of(const Graph& graph, const Op& add, size_t product, const std::vector<std::vector<OpId>>& users) {
  const Value& sum = graph.value(add.outputs[0]);
  const ValueId y = add.inputs[product], bias = add.inputs[1 - product];
  const Value &made = graph.value(y), &vector = graph.value(bias);
  if (made.producer == kNone || users[position_of(y)].size() != 1 || made.type != sum.type) return nullptr;
  const Op& op = graph.op(made.producer);
  if (op.kind != Kind::k_matmul || op.inputs.size() != 2) return nullptr;
  const bool fits = vector.producer == kNone && vector.role != ir::Role::kInput && vector.type.shape.size() == 1 &&
                    vector.type.shape[0] == made.type.shape.back();
  return fits ? &op : nullptr;
}

}  // namespace

Graph fuse_product_bias(Graph graph) {
  const auto users = ir::users_of(graph);
  for (Op& add : graph.ops) {
    if (add.kind != Kind::k_add) continue;
    for (const size_t product : {size_t{0}, size_t{1}}) {
      const Op* found = product_of(graph, add, product, users);
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
