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
  back.d_inputs[0] = back.builder.op(Kind::k_scale, back.op.name + ".dx", {back.d_outputs[0]}, {{}, {a, 0}});
}

void sin_gradient(Backward& back) {
  Builder& builder = back.builder;
  const ValueId slope = builder.op(Kind::k_cos, back.op.name + ".cos", {back.op.inputs[0]});
  back.d_inputs[0] = builder.op(Kind::k_mul, back.op.name + ".dx", {back.d_outputs[0], slope});
}
void cos_gradient(Backward& back) {
  Builder& builder = back.builder;
  const ValueId slope = builder.op(Kind::k_sin, back.op.name + ".sin", {back.op.inputs[0]});
  const ValueId product = builder.op(Kind::k_mul, back.op.name + ".product", {back.d_outputs[0], slope});
  back.d_inputs[0] = builder.op(Kind::k_neg, back.op.name + ".dx", {product});
}
void abs_gradient(Backward& back) {
  const ValueId sign = back.builder.op(Kind::k_sign, back.op.name + ".sign", {back.op.inputs[0]});
  back.d_inputs[0] = back.builder.op(Kind::k_mul, back.op.name + ".dx", {back.d_outputs[0], sign});
}

// The slope is alpha where alpha X + beta lies strictly between 0 and 1: between two X, whatever rounding does to Y.
void hard_sigmoid_gradient(Backward& back) {
  const double alpha = back.op.attrs.reals[0], beta = back.op.attrs.reals[1];
  const double zero = alpha == 0 ? 0 : -beta / alpha, one = alpha == 0 ? 0 : (1 - beta) / alpha;
  back.d_inputs[0] =
      back.builder.op(Kind::k_hard_sigmoid_grad, back.op.name + ".dx", {back.d_outputs[0], back.op.inputs[0]},
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
  return forward_op(kind, gradient, flops_per_output<kFlops>, pointwise(RowWise::kElements, keeps_zero), over_first);
}

template <int kFlops>
OpDef unary_grad(Kind kind, ZeroRule keeps_zero, std::optional<CompactForm> compact = {}) {
  OpDef def =
      forward_op(kind, kNoGradient, flops_per_output<kFlops>, pointwise(RowWise::kNever, keeps_zero), over_first_two);
  def.traits.through_convolution = true;
  def.compact = compact;
  return def;
}

CompactForm signs_for(Kind gradient) {
  return {Kind::k_sign_bits, gradient};
}

}  // namespace

std::vector<OpDef> unary_ops() {
  return {
      unary<1>(Kind::k_relu, from_output<Kind::k_relu_grad>, always),
      unary<2>(Kind::k_leaky_relu, from_input<Kind::k_leaky_relu_grad>, always),
      unary<20>(Kind::k_sigmoid, from_output<Kind::k_sigmoid_grad>, never),
      unary<20>(Kind::k_tanh, from_output<Kind::k_tanh_grad>, always),
      unary<25>(Kind::k_gelu, from_input<Kind::k_gelu_grad>, always),
      unary<20>(Kind::k_erf, from_input<Kind::k_erf_grad>, always),
      unary<4>(Kind::k_sqrt, from_output<Kind::k_sqrt_grad>, never),
      unary<16>(Kind::k_exp, from_output<Kind::k_mul>, never),
      unary<16>(Kind::k_log, from_input<Kind::k_div>, never),
      unary<1>(Kind::k_neg, from_gradient<Kind::k_neg>, always),
      unary<2>(Kind::k_scale, scale_gradient, scale_keeps_zero),
      unary<1>(Kind::k_abs, abs_gradient, always),
      unary<1>(Kind::k_sign, no_gradient_flows, always),
      unary<25>(Kind::k_sin, sin_gradient, always),
      unary<25>(Kind::k_cos, cos_gradient, never),
      unary<20>(Kind::k_elu, from_input<Kind::k_elu_grad>, always),
      unary<35>(Kind::k_softplus, from_input<Kind::k_softplus_grad>, never),
      unary<4>(Kind::k_hard_sigmoid, hard_sigmoid_gradient, hard_sigmoid_keeps_zero),
      unary<5>(Kind::k_hard_swish, from_input<Kind::k_hard_swish_grad>, always),
      unary<2>(Kind::k_clip, from_output<Kind::k_clip_grad>, clip_keeps_zero),
      forward_op(Kind::k_round, no_gradient_flows, flops_per_output<1>, rows_by(RowWise::kElements), over_first),
      forward_op(Kind::k_arc, from_input<Kind::k_arc_grad>, flops_per_output<30>,
                 pointwise(RowWise::kElements, arc_keeps_zero), over_first),
      // as a cast there and back: what comes back is rounded, too
      forward_op(Kind::k_round_to, from_gradient<Kind::k_round_to>, flops_per_output<2>,
                 pointwise(RowWise::kElements, always), over_first),
      forward_op(Kind::k_cast, from_gradient<Kind::k_cast>, flops_per_output<1>, rows_by(RowWise::kElements),
                 cast_in_place),
      unary_grad<1>(Kind::k_relu_grad, always, signs_for(Kind::k_relu_grad_bits)),
      unary_grad<2>(Kind::k_leaky_relu_grad, always, signs_for(Kind::k_leaky_relu_grad_bits)),
      unary_grad<3>(Kind::k_sigmoid_grad, always),
      unary_grad<3>(Kind::k_tanh_grad, always),
      unary_grad<40>(Kind::k_gelu_grad, always),
      unary_grad<20>(Kind::k_erf_grad, always),
      unary_grad<5>(Kind::k_sqrt_grad, never),
      unary_grad<20>(Kind::k_elu_grad, always),
      unary_grad<20>(Kind::k_softplus_grad, always),
      unary_grad<3>(Kind::k_hard_sigmoid_grad, always),
      unary_grad<5>(Kind::k_hard_swish_grad, always),
      unary_grad<2>(Kind::k_clip_grad, always),
      forward_op(Kind::k_arc_grad, kNoGradient, flops_per_output<6>, pointwise(RowWise::kNever, never), over_first_two),
      forward_op(Kind::k_dropout, from_gradient<Kind::k_dropout>, flops_per_output<30>, kNoTraits, over_first),
      backward_op(Kind::k_random, flops_per_output<50>),
      backward_op(Kind::k_sign_bits, flops_per_input<1>),
      backward_op(Kind::k_relu_grad_bits, flops_per_output<1>, over_first),
      backward_op(Kind::k_leaky_relu_grad_bits, flops_per_output<1>, over_first),
  };
}

}  // namespace pantoum::ir
