#include <algorithm>

#include "kernels/portable/update_group.h"
#include "rewrite/edit.h"
#include "rewrite/passes.h"

namespace pantoum::rewrite {
namespace {

// A gradient that is no larger than the strips in which the fused op makes it is as well a tensor.
constexpr int64_t kStripElements = 512;

// The op that makes the gradient itself; none where the gradient is no product of matrices or images.
std::optional<Kind> fused_kind(const Graph& graph, const Op& product) {
  const auto is_matrix = [&](ValueId id) { return graph.value(id).type.shape.size() == 2; };
  if (product.kind == Kind::k_conv2d_dw) return Kind::k_conv2d_dw_update;
  if (product.kind == Kind::k_matmul && product.inputs.size() == 2 && is_matrix(product.inputs[0]) &&
      is_matrix(product.inputs[1]))
    return Kind::k_matmul_update;
  return std::nullopt;
}

Attrs fused_attrs(const Op& product, const Op& update) {
  Attrs attrs{product.attrs.ints, update.attrs.reals};
  const std::vector<int64_t>& own = update.attrs.ints;  // a flag, a group: each where it is there
  const auto group = static_cast<size_t>(pt_group_place(static_cast<int64_t>(update.kind)));
  attrs.ints.push_back(static_cast<int64_t>(update.kind));
  attrs.ints.push_back(group == 0 ? 0 : own[0]);
  if (own.size() > group) attrs.ints.push_back(own[group]);
  attrs.reals.resize(PT_UPDATE_REALS);
  return attrs;
}

// The bytes that the product's factors take from the input's gradient: dX, made of the same dY, may be written over
// what the product reads, unless the product waits until it is there.
ir::Bytes held_bytes(const Graph& graph, const Op& product, const std::vector<std::vector<OpId>>& users) {
  ir::Bytes held = 0;
  for (const ValueId dy : product.inputs)
    for (const OpId reader : users[position_of(dy)]) {
      const Op& other = graph.op(reader);
      const bool makes_dx = other.kind == Kind::k_conv2d_dx || other.kind == Kind::k_conv2d_dz;
      if (makes_dx && other.inputs[0] == dy) held = graph.value(other.outputs[0]).type.bytes();
    }
  return held;
}

// The update takes the product's operands, and nobody needs the product any more.
void fuse(Op& update, const Op& product, Kind kind) {
  std::vector<ValueId> inputs = product.inputs;
  inputs.push_back(update.inputs[0]);
  inputs.insert(inputs.end(), update.inputs.begin() + 2, update.inputs.end());
  update.attrs = fused_attrs(product, update);
  update.kind = kind;
  update.inputs = std::move(inputs);
}

}  // namespace

Graph fuse_updates(Graph graph) {
  const auto users = ir::users_of(graph);
  for (Op& update : graph.ops) {
    if (!ir::op_def(update.kind).traits.follows_product || !update.alternatives.empty()) continue;
    const ValueId gradient = update.inputs[1];
    const OpId made = graph.value(gradient).producer;
    if (made == kNone || graph.value(gradient).type.elements() <= kStripElements) continue;
    const Op& product = graph.op(made);
    const std::optional<Kind> kind = fused_kind(graph, product);
    const bool outlives = std::ranges::find(graph.outputs, gradient) != graph.outputs.end();
    const bool pays = graph.value(gradient).type.bytes() > held_bytes(graph, product, users);
    if (kind && pays && product.alternatives.empty() && !outlives && users[position_of(gradient)].size() == 1)
      fuse(update, product, *kind);
  }
  ir::drop_dead_ops(graph);
  return graph;
}

}  // namespace pantoum::rewrite
