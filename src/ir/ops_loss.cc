// Losses, their gradients, and the count of right answers.
#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

// The gradient by the prediction: an op with the loss's inputs and attributes. Where the loss is what is minimized,
// there is nothing to multiply by but its weight.
template <Kind kGrad>
ValueId prediction_gradient(Backward& back) {
  const ValueId dx = make(back, kGrad, ".dx", back.op.inputs, back.op.attrs);
  if (back.d_outputs[0] == kNone) return back.builder.scale(dx, back.weight);
  return make(back, k_mul, ".chain", {dx, back.d_outputs[0]});
}

template <Kind kGrad>
void gradient_of_prediction(Backward& back) {
  if (back.wanted[0]) back.d_inputs[0] = prediction_gradient<kGrad>(back);
}

// Losses of pred - target.
template <Kind kGrad>
void gradient_of_both(Backward& back) {
  const ValueId dx = prediction_gradient<kGrad>(back);
  if (back.wanted[0]) back.d_inputs[0] = dx;
  if (back.wanted[1]) back.d_inputs[1] = make(back, k_neg, ".dtarget", {dx});
}

// The loss, and its gradient by the prediction, which may be written over `in_place`.
template <int kFlops, int kGradFlops>
void append(std::vector<OpDef>& ops, Kind loss, Kind grad, Pairs (*in_place)(const OpTypes&),
            void (*gradient)(Backward&)) {
  ops.push_back(
      {.kind = loss, .gradient = gradient, .cost = flops_per_input<kFlops>, .traits = kNoTraits, .begins_chain = true});
  ops.push_back(backward_op(grad, flops_per_input<kGradFlops>, in_place));
}

}  // namespace

std::vector<OpDef> loss_ops() {
  using enum Kind;
  std::vector<OpDef> ops;
  append<20, 36>(ops, k_cross_entropy, k_cross_entropy_grad, over_first, gradient_of_prediction<k_cross_entropy_grad>);
  append<24, 40>(ops, k_soft_cross_entropy, k_soft_cross_entropy_grad, over_first_two,
                 gradient_of_prediction<k_soft_cross_entropy_grad>);
  append<1, 1>(ops, k_nll, k_nll_grad, over_first, gradient_of_prediction<k_nll_grad>);
  append<3, 2>(ops, k_mse, k_mse_grad, over_first_two, gradient_of_both<k_mse_grad>);
  append<2, 2>(ops, k_l1, k_l1_grad, over_first_two, gradient_of_both<k_l1_grad>);
  append<5, 4>(ops, k_smooth_l1, k_smooth_l1_grad, over_first_two, gradient_of_both<k_smooth_l1_grad>);
  append<40, 24>(ops, k_bce_with_logits, k_bce_with_logits_grad, over_first_two,
                 gradient_of_prediction<k_bce_with_logits_grad>);
  append<24, 1>(ops, k_kl_div, k_kl_div_grad, over_first_two, gradient_of_prediction<k_kl_div_grad>);
  ops.push_back(backward_op(k_count_correct, flops_per_input<3>));
  return ops;
}

}  // namespace pantoum::ir
