#include <algorithm>
#include <utility>

#include "rewrite/edit.h"
#include "rewrite/passes.h"

namespace pantoum::rewrite {
namespace {

struct Product {
  Kind alone, finished;
};
constexpr Product kProducts[] = {{Kind::k_conv2d, Kind::k_conv2d_act}, {Kind::k_matmul, Kind::k_matmul_act}};

const Product* product_of(const Op& op) {
  const auto* found = std::ranges::find(kProducts, op.kind, &Product::alone);
  return found == std::end(kProducts) || !op.alternatives.empty() ? nullptr : found;
}

// Do a back end's kernels give the activation's own bits, and do zeros that pad a block of channels stay zeros?
bool back_end_finishes(const Op& activation) {
  switch (activation.kind) {
    case Kind::k_relu:
    case Kind::k_leaky_relu:
    case Kind::k_clip:
    case Kind::k_hard_swish:
      return ir::op_def(activation.kind).traits.keeps_zero(activation.attrs);
    default:
      return false;
  }
}

// Is Y > 0 where X > 0, and nowhere else?
bool slope_is_told_by_output(const Op& activation) {
  return activation.kind == Kind::k_leaky_relu && activation.attrs.reals[0] >= 0;
}

class EpilogueFusion {
 public:
  EpilogueFusion(Graph graph, bool by_back_end)
      : graph_(std::move(graph)), by_back_end_(by_back_end), readers_(graph_), consumed_(graph_.ops.size(), 0) {}

  // The last product first: a sum of two takes the one that is made last.
  Graph run() {
    for (OpId op = static_cast<OpId>(graph_.ops.size()); op-- > 0;)
      if (product_of(graph_.op(op)) != nullptr) follow(op);
    ir::drop_dead_ops(graph_);
    return std::move(graph_);
  }

 private:
  // The one op that reads the value; kNone where others do, or it outlives the step.
  OpId only_reader(ValueId id) const {
    const OpId reader = readers_.only(id);
    return reader != kNone && !consumed_[position_of(reader)] && graph_.op(reader).alternatives.empty() ? reader
                                                                                                        : kNone;
  }

  // What a sum adds to the product, element for element; kNone: it is no such sum, or what it adds is made after the
  // product, which would have to wait for it.
  ValueId added_to(OpId product, ValueId made, const Op& op) const {
    if (op.kind != Kind::k_add || op.inputs[0] == op.inputs[1]) return kNone;
    const ValueId other = op.inputs[0] == made ? op.inputs[1] : op.inputs[0];
    const OpId producer = graph_.value(other).producer;
    const bool is_there = producer == kNone || producer < product;
    return is_there && graph_.value(other).type == graph_.value(made).type ? other : kNone;
  }

  bool finishes(const Op& op) const {
    if (!ir::is_epilogue(op.kind) || op.attrs.reals.size() > PT_EPILOGUE_REALS) return false;
    if (op.kind == Kind::k_gelu && op.attrs.ints[0] != 0) return false;
    return !by_back_end_ || back_end_finishes(op);
  }

  bool is_gradient_of(const Op& op, const Op& activation) const {
    return op.kind == Kind::k_leaky_relu_grad && op.attrs == activation.attrs && op.alternatives.empty() &&
           op.inputs[1] == activation.inputs[0] && op.inputs[0] != op.inputs[1];
  }

  // The activation behind the value that alone needs it, once its gradients read its output in place of its input.
  OpId activation_behind(ValueId id) const {
    if (readers_.is_kept(id)) return kNone;
    OpId found = kNone;
    for (const OpId reader : readers_.of(id))
      if (!consumed_[position_of(reader)] && graph_.op(reader).alternatives.empty() && finishes(graph_.op(reader)))
        found = found == kNone ? reader : kNone;
    if (found == kNone) return kNone;
    const Op& activation = graph_.op(found);
    const bool alone = std::ranges::all_of(readers_.of(id), [&](OpId reader) {
      return reader == found || (slope_is_told_by_output(activation) && is_gradient_of(graph_.op(reader), activation));
    });
    return alone ? found : kNone;
  }

  void follow(OpId product) {
    ValueId made = graph_.op(product).outputs[0], residual = kNone;
    OpId last = kNone;
    if (const OpId sum = only_reader(made);
        sum != kNone && (residual = added_to(product, made, graph_.op(sum))) != kNone) {
      last = sum;
      consumed_[position_of(sum)] = 1;
      made = graph_.op(sum).outputs[0];
    }
    const OpId activation = activation_behind(made);
    if (activation != kNone) last = activation;
    if (last == kNone) return;
    const Op finish = activation == kNone ? Op{} : graph_.op(activation);
    if (activation != kNone) read_output(finish);
    replace(product, last, finish, residual);
  }

  // Gradients of leaky relu read what it makes.
  void read_output(const Op& activation) {
    for (const OpId reader : readers_.of(activation.inputs[0]))
      if (is_gradient_of(graph_.op(reader), activation)) {
        graph_.ops[position_of(reader)].inputs[1] = activation.outputs[0];
        readers_.of(activation.outputs[0]).push_back(reader);
      }
  }

  // The value whose memory it is seen in.
  ValueId root_of(ValueId id) const {
    for (OpId op = graph_.value(id).producer; op != kNone && graph_.op(op).kind == Kind::k_alias;
         op = graph_.value(id).producer)
      id = graph_.op(op).inputs[0];
    return id;
  }

  int64_t how_added(const Op& product, ValueId residual) const {
    if (residual == kNone) return PT_RESIDUAL_NONE;
    const bool is_read_too =
        std::ranges::any_of(product.inputs, [&](ValueId input) { return root_of(input) == root_of(residual); });
    return by_back_end_ || is_read_too ? PT_RESIDUAL_READ : PT_RESIDUAL_OVER;
  }

  // Where the product stands, and all that it reads is made; the last op that it stands for gets the product's own result,
  // which nobody reads any more.
  void replace(OpId id, OpId last, const Op& activation, ValueId residual) {
    Op& product = graph_.ops[position_of(id)];
    product.kind = product_of(product)->finished;
    product.attrs.ints.insert(
        product.attrs.ints.end(),
        {activation.outputs.empty() ? 0 : static_cast<int64_t>(activation.kind), how_added(product, residual)});
    product.attrs.reals = activation.attrs.reals;
    product.attrs.reals.resize(PT_EPILOGUE_REALS);
    if (residual != kNone) product.inputs.push_back(residual);
    std::swap(product.outputs, graph_.ops[position_of(last)].outputs);
    graph_.value(product.outputs[0]).producer = id;
    consumed_[position_of(last)] = 1;
  }

  Graph graph_;
  bool by_back_end_;
  Readers readers_;
  std::vector<char> consumed_;  // by op
};

}  // namespace

Graph fuse_epilogues(Graph graph, bool by_back_end) {
  return EpilogueFusion(std::move(graph), by_back_end).run();
}

}  // namespace pantoum::rewrite
