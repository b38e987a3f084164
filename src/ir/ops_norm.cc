// Batch and layer normalization, softmax and log_softmax along one axis (their gradients read the output alone).
#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

// dY, the inputs that the gradient reads, and the statistics -> dX dscale dbias.
void norm_gradient(Backward& back, Kind kind, size_t inputs, Attrs attrs) {
  const std::vector<ValueId>&in = back.op.inputs, &out = back.op.outputs;
  if (back.d_outputs[0] == kNone) return;
  std::vector<ValueId> reads{back.d_outputs[0]};
  reads.insert(reads.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(inputs));
  reads.insert(reads.end(), {out[1], out[2]});
  const std::vector<ValueId> made = make_all(back, kind, ".grad", std::move(reads), std::move(attrs));
  for (size_t input = 0; input < 3; ++input) back.d_inputs[input] = made[input];
}
void batch_norm_gradient(Backward& back) {
  norm_gradient(back, k_batch_norm_grad, 2, back.op.attrs);
}
void batch_norm_act_gradient(Backward& back) {
  norm_gradient(back, k_batch_norm_act_grad, 3, back.op.attrs);
}
void layer_norm_gradient(Backward& back) {
  norm_gradient(back, k_layer_norm_grad, 2, {back.op.attrs.ints, {}});
}

// Composed of other ops: only networks with frozen statistics and trained norms need it.
void batch_norm_eval_gradient(Backward& back) {
  const ValueId d = back.d_outputs[0], x = back.op.inputs[0], scale = back.op.inputs[1], mean = back.op.inputs[3];
  if (d == kNone) return;
  Builder& builder = back.builder;
  const Shape channels = builder.type(scale).shape;
  Shape wide(builder.type(x).shape.size() - 1, 1);  // broadcast against X
  wide[0] = channels[0];
  const std::string name = back.op.name + ".grad";
  const ValueId variance = builder.scale(back.op.inputs[4], 1, back.op.attrs.reals[0]);
  const ValueId deviation = builder.op(k_sqrt, name + ".deviation", {variance});
  const auto binary = [&](Kind kind, const char* what, ValueId a, ValueId b) {
    return builder.op(kind, name + what, {a, b});
  };
  const auto over_channels = [&](ValueId value) { return builder.reshape(builder.sum_to(value, wide), channels); };
  if (back.wanted[0]) {
    const ValueId factor = binary(k_div, ".factor", scale, deviation);
    back.d_inputs[0] = binary(k_mul, ".dx", d, builder.reshape(factor, wide));
  }
  if (back.wanted[1]) {
    const ValueId centered = binary(k_sub, ".centered", x, builder.reshape(mean, wide));
    const ValueId sum = over_channels(binary(k_mul, ".product", d, centered));
    back.d_inputs[1] = binary(k_div, ".dscale", sum, deviation);
  }
  if (back.wanted[2]) back.d_inputs[2] = over_channels(d);
}

Pairs statistics_in_place(const OpTypes&) {
  return {{0, 0}, {1, 1}};
}

}  // namespace

std::vector<OpDef> norm_ops() {
  return {
      forward_op(k_batch_norm, batch_norm_gradient, flops_per_output<7>, kNoTraits, over_first),
      backward_op(k_batch_norm_grad, flops_per_output<11>, over_first_two),
      once(backward_op(k_batch_norm_stats, flops_per_output<7>, statistics_in_place)),
      forward_op(k_batch_norm_eval, batch_norm_eval_gradient, flops_per_output<2>, rows_by(kFirstInput), over_first),
      forward_op(k_batch_norm_act, batch_norm_act_gradient, flops_per_output<8>, kNoTraits, over_first),
      backward_op(k_batch_norm_act_grad, flops_per_output<17>, over_first_two),
      backward_op(k_batch_norm_act_eval, flops_per_output<3>, over_first),
      forward_op(k_layer_norm, layer_norm_gradient, flops_per_output<8>, rows_by(kBehindAxis), over_first),
      backward_op(k_layer_norm_grad, flops_per_output<14>, over_first_two),
      forward_op(k_softmax, from_output<k_softmax_grad>, flops_per_output<20>, rows_by(kBehindAxis), over_first),
      backward_op(k_softmax_grad, flops_per_output<4>, over_first_two),
      forward_op(k_log_softmax, from_output<k_log_softmax_grad>, flops_per_output<20>, rows_by(kBehindAxis),
                 over_first),
      backward_op(k_log_softmax_grad, flops_per_output<20>, over_first_two),
  };
}

}  // namespace pantoum::ir
