// Elementwise ops with one input. Ops that draw random numbers (a function of seed, op key, step and element, so that
// recomputing and the gradient see the same numbers). Bits that replace an activation. Gradients read the output
// where that is enough, so that the input may be overwritten.
#include <algorithm>

#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

Pairs cast_in_place(const OpTypes& types) {
  if (size_of(types.inputs[0].dtype) != size_of(types.outputs[0].dtype)) return {};
  return {{0, 0}};
}

void scale_gradient(Backward& back) {
  const double a = back.op.attrs.reals[0];
  back.d_inputs[0] = make(back, k_scale, ".dx", {back.d_outputs[0]}, {{}, {a, 0}});
}

void sin_gradient(Backward& back) {
  const ValueId slope = make(back, k_cos, ".cos", {back.op.inputs[0]});
  back.d_inputs[0] = make(back, k_mul, ".dx", {back.d_outputs[0], slope});
}
void cos_gradient(Backward& back) {
  const ValueId slope = make(back, k_sin, ".sin", {back.op.inputs[0]});
  const ValueId product = make(back, k_mul, ".product", {back.d_outputs[0], slope});
  back.d_inputs[0] = make(back, k_neg, ".dx", {product});
}
void abs_gradient(Backward& back) {
  const ValueId sign = make(back, k_sign, ".sign", {back.op.inputs[0]});
  back.d_inputs[0] = make(back, k_mul, ".dx", {back.d_outputs[0], sign});
}

// The slope is alpha where alpha X + beta lies strictly between 0 and 1: between two X, whatever rounding does to Y.
void hard_sigmoid_gradient(Backward& back) {
  const double alpha = back.op.attrs.reals[0], beta = back.op.attrs.reals[1];
  const double zero = alpha == 0 ? 0 : -beta / alpha, one = alpha == 0 ? 0 : (1 - beta) / alpha;
  back.d_inputs[0] = make(back, k_hard_sigmoid_grad, ".dx", {back.d_outputs[0], back.op.inputs[0]},
                          {{}, {alpha, std::min(zero, one), std::max(zero, one)}});
}

// Piecewise constant: the gradient is zero.
void no_gradient_flows(Backward&) {}

bool clip_keeps_zero(const Attrs& attrs) {
  return attrs.reals[0] <= 0 && attrs.reals[1] >= 0;
}
bool hard_sigmoid_keeps_zero(const Attrs& attrs) {
  return attrs.reals[1] <= 0;
}
bool arc_keeps_zero(const Attrs& attrs) {
  return attrs.ints[0] != PT_ARC_COS && attrs.ints[0] != PT_ARC_COSH;
}
bool scale_keeps_zero(const Attrs& attrs) {
  return attrs.reals[1] == 0;
}

using ZeroRule = bool (*)(const Attrs&);

template <int kFlops>
OpDef unary(Kind kind, void (*gradient)(Backward&), ZeroRule keeps_zero) {
  return forward_op(kind, gradient, flops_per_output<kFlops>, pointwise(kElements, keeps_zero), over_first);
}

template <int kFlops>
OpDef unary_grad(Kind kind, ZeroRule keeps_zero, std::optional<CompactForm> compact = {}) {
  OpDef def = forward_op(kind, kNoGradient, flops_per_output<kFlops>, pointwise(kNever, keeps_zero), over_first_two);
  def.traits.through_convolution = true;
  def.compact = compact;
  return def;
}

CompactForm signs_for(Kind gradient) {
  return {k_sign_bits, gradient};
}

}  // namespace

std::vector<OpDef> unary_ops() {
  return {
      unary<1>(k_relu, from_output<k_relu_grad>, always),
      unary<2>(k_leaky_relu, from_input<k_leaky_relu_grad>, always),
      unary<20>(k_sigmoid, from_output<k_sigmoid_grad>, never),
      unary<20>(k_tanh, from_output<k_tanh_grad>, always),
      unary<25>(k_gelu, from_input<k_gelu_grad>, always),
      unary<20>(k_erf, from_input<k_erf_grad>, always),
      unary<4>(k_sqrt, from_output<k_sqrt_grad>, never),
      unary<16>(k_exp, from_output<k_mul>, never),
      unary<16>(k_log, from_input<k_div>, never),
      unary<1>(k_neg, from_gradient<k_neg>, always),
      unary<2>(k_scale, scale_gradient, scale_keeps_zero),
      unary<1>(k_abs, abs_gradient, always),
      unary<1>(k_sign, no_gradient_flows, always),
      unary<25>(k_sin, sin_gradient, always),
      unary<25>(k_cos, cos_gradient, never),
      unary<20>(k_elu, from_input<k_elu_grad>, always),
      unary<35>(k_softplus, from_input<k_softplus_grad>, never),
      unary<4>(k_hard_sigmoid, hard_sigmoid_gradient, hard_sigmoid_keeps_zero),
      unary<5>(k_hard_swish, from_input<k_hard_swish_grad>, always),
      unary<2>(k_clip, from_output<k_clip_grad>, clip_keeps_zero),
      forward_op(k_round, no_gradient_flows, flops_per_output<1>, rows_by(kElements), over_first),
      forward_op(k_arc, from_input<k_arc_grad>, flops_per_output<30>, pointwise(kElements, arc_keeps_zero), over_first),
      // as a cast there and back: what comes back is rounded, too
      forward_op(k_round_to, from_gradient<k_round_to>, flops_per_output<2>, pointwise(kElements, always), over_first),
      forward_op(k_cast, from_gradient<k_cast>, flops_per_output<1>, rows_by(kElements), cast_in_place),
      unary_grad<1>(k_relu_grad, always, signs_for(k_relu_grad_bits)),
      unary_grad<2>(k_leaky_relu_grad, always, signs_for(k_leaky_relu_grad_bits)),
      unary_grad<3>(k_sigmoid_grad, always),
      unary_grad<3>(k_tanh_grad, always),
      unary_grad<40>(k_gelu_grad, always),
      unary_grad<20>(k_erf_grad, always),
      unary_grad<5>(k_sqrt_grad, never),
      unary_grad<20>(k_elu_grad, always),
      unary_grad<20>(k_softplus_grad, always),
      unary_grad<3>(k_hard_sigmoid_grad, always),
      unary_grad<5>(k_hard_swish_grad, always),
      unary_grad<2>(k_clip_grad, always),
      forward_op(k_arc_grad, kNoGradient, flops_per_output<6>, pointwise(kNever, never), over_first_two),
      forward_op(k_dropout, from_gradient<k_dropout>, flops_per_output<30>, kNoTraits, over_first),
      backward_op(k_random, flops_per_output<50>),
      backward_op(k_sign_bits, flops_per_input<1>),
      backward_op(k_relu_grad_bits, flops_per_output<1>, over_first),
      backward_op(k_leaky_relu_grad_bits, flops_per_output<1>, over_first),
  };
}

}  // namespace pantoum::ir
