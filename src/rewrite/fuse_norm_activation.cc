#include <algorithm>
#include <utility>

#include "ir/op_registry.h"
#include "rewrite/edit.h"
#include "rewrite/passes.h"

namespace pantoum::rewrite {
namespace {

struct NormKinds {
  Kind plain, with_activation;
};
constexpr NormKinds kNorms[] = {{Kind::k_batch_norm, Kind::k_batch_norm_act},
                                {Kind::k_batch_norm_eval, Kind::k_batch_norm_act_eval}};

std::optional<Kind> norm_with_activation(Kind kind) {
  for (const NormKinds& norm : kNorms)
    if (norm.plain == kind) return norm.with_activation;
  return std::nullopt;
}

std::optional<Kind> norm_activation_grad(Kind activation) {
  switch (activation) {
    case Kind::k_relu:
      return Kind::k_relu_grad;
    case Kind::k_leaky_relu:
      return Kind::k_leaky_relu_grad;
    case Kind::k_clip:
      return Kind::k_clip_grad;
    default:
      return std::nullopt;
  }
}

Attrs norm_activation_attrs(const Op& norm, const Op& activation) {
  Attrs attrs{{static_cast<int64_t>(activation.kind)}, norm.attrs.reals};
  attrs.reals.insert(attrs.reals.end(), activation.attrs.reals.begin(), activation.attrs.reals.end());
  attrs.reals.resize(PT_NORM_ACT_REALS);
  return attrs;
}

class NormFusion {
 public:
  explicit NormFusion(Graph graph) : graph_(std::move(graph)), readers_(graph_) {}

  Graph run() {
    for (OpId op = 0; op < static_cast<OpId>(graph_.ops.size()); ++op)
      if (ir::is_norm_activation(graph_.op(op).kind)) follow(op);
    ir::drop_dead_ops(graph_);
    return std::move(graph_);
  }

 private:
  struct Found {
    OpId norm = kNone, activation = kNone;
    std::vector<std::pair<OpId, OpId>> gradients;  // of the activation, and of the norm behind it
  };

  bool is_gradient_of(const Op& op, const Op& activation) const {
    return norm_activation_grad(activation.kind) == op.kind && op.attrs == activation.attrs &&
           op.alternatives.empty() && (op.inputs[1] == activation.inputs[0] || op.inputs[1] == activation.outputs[0]);
  }

  // The gradient of the norm that alone reads the activation's; kNone where there is none.
  OpId norm_gradient_behind(OpId gradient, const Op& norm) const {
    const ValueId dn = graph_.op(gradient).outputs[0];
    const OpId behind = readers_.only(dn);
    if (behind == kNone) return kNone;
    const Op& reader = graph_.op(behind);
    if (reader.kind != Kind::k_batch_norm_grad || norm.kind != Kind::k_batch_norm || !reader.alternatives.empty())
      return kNone;
    const std::vector<ValueId> expected = {dn, norm.inputs[0], norm.inputs[1], norm.outputs[1], norm.outputs[2]};
    return reader.inputs == expected && reader.attrs == norm.attrs ? behind : kNone;
  }

  std::vector<OpId> readers_of(const Op& norm, const Op& activation) const {
    std::vector<OpId> readers = readers_.of(norm.outputs[0]);
    const std::vector<OpId>& behind = readers_.of(activation.outputs[0]);
    readers.insert(readers.end(), behind.begin(), behind.end());
    return readers;
  }

  void follow(OpId activation) {
    const Op& act = graph_.op(activation);
    Found found{.norm = graph_.value(act.inputs[0]).producer, .activation = activation};
    if (found.norm == kNone || !act.alternatives.empty()) return;
    const Op& norm = graph_.op(found.norm);
    if (!norm_with_activation(norm.kind) || norm.outputs[0] != act.inputs[0] || !norm.alternatives.empty()) return;
    for (const OpId reader : readers_of(norm, act)) {
      if (!is_gradient_of(graph_.op(reader), act)) continue;
      const OpId behind = norm_gradient_behind(reader, norm);
      if (behind != kNone) found.gradients.emplace_back(reader, behind);
    }
    const bool alone = only_fused(found);
    for (const auto& [gradient, behind] : found.gradients) fuse_gradient(gradient, behind, norm, act);
    if (alone) fuse_forward(found);
  }

  // Nobody else needs what was normalized.
  bool only_fused(const Found& found) const {
    const ValueId normalized = graph_.op(found.activation).inputs[0];
    if (readers_.is_kept(normalized)) return false;
    return std::ranges::all_of(readers_.of(normalized), [&](OpId reader) {
      return reader == found.activation ||
             std::ranges::any_of(found.gradients, [&](const auto& fused) { return fused.first == reader; });
    });
  }

  // The activation's gradient stays behind, unread, and is dropped with what is dead.
  void fuse_gradient(OpId gradient, OpId behind, const Op& norm, const Op& activation) {
    Op& op = graph_.ops[position_of(behind)];
    op.kind = Kind::k_batch_norm_act_grad;
    op.attrs = norm_activation_attrs(norm, activation);
    op.inputs = {graph_.op(gradient).inputs[0],
                 norm.inputs[0],
                 norm.inputs[1],
                 norm.inputs[2],
                 norm.outputs[1],
                 norm.outputs[2]};
  }

  // The fused op takes the norm's place. An op that nobody reads takes the activation's place.
  void fuse_forward(const Found& found) {
    Op &norm = graph_.ops[position_of(found.norm)], &act = graph_.ops[position_of(found.activation)];
    norm.attrs = norm_activation_attrs(norm, act);
    norm.kind = *norm_with_activation(norm.kind);
    std::swap(norm.outputs[0], act.outputs[0]);
    act.inputs[0] = norm.outputs[0];
    graph_.value(norm.outputs[0]).producer = found.norm;
    graph_.value(act.outputs[0]).producer = found.activation;
  }

  Graph graph_;
  Readers readers_;
};

}  // namespace

Graph fuse_norm_activation(Graph graph) {
  return NormFusion(std::move(graph)).run();
}

}  // namespace pantoum::rewrite
