// Element by element, one input. Gradients read the output where that is enough, so that the input may be overwritten.
#include <algorithm>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"
#include "pantoum/ops.h"

namespace pantoum::ir {
namespace {

Types cast_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_TRY(want_shape(types.outputs[0], types.inputs[0].shape, "the output"));
  return std::vector<TensorType>{types.outputs[0]};
}

Pairs cast_in_place(const OpTypes& types) {
  if (size_of(types.inputs[0].dtype) != size_of(types.outputs[0].dtype)) return {};
  return {{0, 0}};
}

void from_output(Backward& back, Kind kind) {
  back.d_inputs[0] =
      back.builder.op(kind, back.op.name + ".dx", {back.d_outputs[0], back.op.outputs[0]}, back.op.attrs);
}
void from_input(Backward& back, Kind kind) {
  back.d_inputs[0] = back.builder.op(kind, back.op.name + ".dx", {back.d_outputs[0], back.op.inputs[0]}, back.op.attrs);
}

void relu_gradient(Backward& back) {
  from_output(back, Kind::k_relu_grad);
}
void leaky_relu_gradient(Backward& back) {
  from_input(back, Kind::k_leaky_relu_grad);
}
void sigmoid_gradient(Backward& back) {
  from_output(back, Kind::k_sigmoid_grad);
}
void tanh_gradient(Backward& back) {
  from_output(back, Kind::k_tanh_grad);
}
void gelu_gradient(Backward& back) {
  from_input(back, Kind::k_gelu_grad);
}
void erf_gradient(Backward& back) {
  from_input(back, Kind::k_erf_grad);
}
void sqrt_gradient(Backward& back) {
  from_output(back, Kind::k_sqrt_grad);
}
void exp_gradient(Backward& back) {
  from_output(back, Kind::k_mul);
}
void log_gradient(Backward& back) {
  from_input(back, Kind::k_div);
}

void neg_gradient(Backward& back) {
  back.d_inputs[0] = back.builder.op(Kind::k_neg, back.op.name + ".dx", {back.d_outputs[0]});
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
void elu_gradient(Backward& back) {
  from_input(back, Kind::k_elu_grad);
}
void softplus_gradient(Backward& back) {
  from_input(back, Kind::k_softplus_grad);
}
void clip_gradient(Backward& back) {
  from_output(back, Kind::k_clip_grad);
}

// The slope is alpha where alpha X + beta lies strictly between 0 and 1: between two X, whatever rounding does to Y.
void hard_sigmoid_gradient(Backward& back) {
  const double alpha = back.op.attrs.reals[0], beta = back.op.attrs.reals[1];
  const double zero = alpha == 0 ? 0 : -beta / alpha, one = alpha == 0 ? 0 : (1 - beta) / alpha;
  back.d_inputs[0] =
      back.builder.op(Kind::k_hard_sigmoid_grad, back.op.name + ".dx", {back.d_outputs[0], back.op.inputs[0]},
                      {{}, {alpha, std::min(zero, one), std::max(zero, one)}});
}
void hard_swish_gradient(Backward& back) {
  from_input(back, Kind::k_hard_swish_grad);
}

void arc_gradient(Backward& back) {
  from_input(back, Kind::k_arc_grad);
}
// As a cast there and back does: what comes back is rounded, too.
void round_to_gradient(Backward& back) {
  back.d_inputs[0] = back.builder.op(Kind::k_round_to, back.op.name + ".dx", {back.d_outputs[0]}, back.op.attrs);
}

// Constant between its jumps.
void no_gradient_flows(Backward&) {}

Types round_rule(const OpTypes& types) {
  if (types.attrs.ints[0] < 0 || types.attrs.ints[0] > 2) return refuse("the way of rounding is unknown");
  return same_as_first(types);
}

Types arc_rule(const OpTypes& types) {
  if (types.attrs.ints[0] < 0 || types.attrs.ints[0] >= PT_ARC_COUNT) return refuse("the function is unknown");
  return same_as_first(types);
}
Types round_to_rule(const OpTypes& types) {
  if (types.attrs.ints[0] < 0 || types.attrs.ints[0] >= PT_ROUND_TO_COUNT) return refuse("the type is unknown");
  return same_as_first(types);
}

void cast_gradient(Backward& back) {
  const TensorType type = back.builder.type(back.op.inputs[0]);
  back.d_inputs[0] = back.builder.op(Kind::k_cast, back.op.name + ".dx", {back.d_outputs[0]}, {}, {type});
}

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
OpDef unary(Kind kind, void (*gradient)(Backward&), ZeroRule keeps_zero, int ints = 0, int reals = 0) {
  return {.kind = kind,
          .signature = {.ints = ints, .reals = reals},
          .infer = same_as_first,
          .gradient = gradient,
          .cost = flops_per_output<kFlops>,
          .in_place = over_first,
          .traits = {.row_wise = RowWise::kElements,
                     .pointwise = true,
                     .keeps_zero = keeps_zero,
                     .through_convolution = false,
                     .follows_product = false}};
}

template <int kFlops>
OpDef unary_grad(Kind kind, ZeroRule keeps_zero, int ints = 0, int reals = 0, std::optional<CompactForm> compact = {}) {
  return {.kind = kind,
          .signature = {.min_inputs = 2, .max_inputs = 2, .ints = ints, .reals = reals},
          .infer = same_as_first,
          .gradient = kNoGradient,
          .cost = flops_per_output<kFlops>,
          .in_place = over_first_two,
          .traits = {.row_wise = RowWise::kNever,
                     .pointwise = true,
                     .keeps_zero = keeps_zero,
                     .through_convolution = true,
                     .follows_product = false},
          .compact = compact};
}

CompactForm signs_for(Kind gradient) {
  return {Kind::k_sign_bits, gradient};
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> unary_ops() {
  return {unary<1>(Kind::k_relu, relu_gradient, always),
          unary<2>(Kind::k_leaky_relu, leaky_relu_gradient, always, 0, 1),
          unary<20>(Kind::k_sigmoid, sigmoid_gradient, never),
          unary<20>(Kind::k_tanh, tanh_gradient, always),
          unary<25>(Kind::k_gelu, gelu_gradient, always, 1, 0),
          unary<20>(Kind::k_erf, erf_gradient, always),
          unary<4>(Kind::k_sqrt, sqrt_gradient, never),
          unary<16>(Kind::k_exp, exp_gradient, never),
          unary<16>(Kind::k_log, log_gradient, never),
          unary<1>(Kind::k_neg, neg_gradient, always),
          unary<2>(Kind::k_scale, scale_gradient, scale_keeps_zero, 0, 2),
          unary<1>(Kind::k_abs, abs_gradient, always),
          unary<1>(Kind::k_sign, no_gradient_flows, always),
          unary<25>(Kind::k_sin, sin_gradient, always),
          unary<25>(Kind::k_cos, cos_gradient, never),
          unary<20>(Kind::k_elu, elu_gradient, always, 0, 3),
          unary<35>(Kind::k_softplus, softplus_gradient, never),
          unary<4>(Kind::k_hard_sigmoid, hard_sigmoid_gradient, hard_sigmoid_keeps_zero, 0, 2),
          unary<5>(Kind::k_hard_swish, hard_swish_gradient, always),
          unary<2>(Kind::k_clip, clip_gradient, clip_keeps_zero, 0, 2),
          {.kind = Kind::k_round,
           .signature = {.ints = 1},
           .infer = round_rule,
           .gradient = no_gradient_flows,
           .cost = flops_per_output<1>,
           .in_place = over_first,
           .traits = rows_by(RowWise::kElements)},
          {.kind = Kind::k_arc,
           .signature = {.ints = 1},
           .infer = arc_rule,
           .gradient = arc_gradient,
           .cost = flops_per_output<30>,
           .in_place = over_first,
           .traits = {.row_wise = RowWise::kElements,
                      .pointwise = true,
                      .keeps_zero = arc_keeps_zero,
                      .through_convolution = false,
                      .follows_product = false}},
          {.kind = Kind::k_round_to,
           .signature = {.ints = 1},
           .infer = round_to_rule,
           .gradient = round_to_gradient,
           .cost = flops_per_output<2>,
           .in_place = over_first,
           .traits = {.row_wise = RowWise::kElements,
                      .pointwise = true,
                      .keeps_zero = always,
                      .through_convolution = false,
                      .follows_product = false}},
          {.kind = Kind::k_cast,
           .infer = cast_rule,
           .gradient = cast_gradient,
           .cost = flops_per_output<1>,
           .in_place = cast_in_place,
           .traits = rows_by(RowWise::kElements)}};
}

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> unary_grad_ops() {
  return {unary_grad<1>(Kind::k_relu_grad, always, 0, 0, signs_for(Kind::k_relu_grad_bits)),
          unary_grad<2>(Kind::k_leaky_relu_grad, always, 0, 1, signs_for(Kind::k_leaky_relu_grad_bits)),
          unary_grad<3>(Kind::k_sigmoid_grad, always),
          unary_grad<3>(Kind::k_tanh_grad, always),
          unary_grad<40>(Kind::k_gelu_grad, always, 1, 0),
          unary_grad<20>(Kind::k_erf_grad, always),
          unary_grad<5>(Kind::k_sqrt_grad, never),
          unary_grad<20>(Kind::k_elu_grad, always, 0, 3),
          unary_grad<20>(Kind::k_softplus_grad, always),
          unary_grad<3>(Kind::k_hard_sigmoid_grad, always, 0, 3),
          unary_grad<5>(Kind::k_hard_swish_grad, always),
          unary_grad<2>(Kind::k_clip_grad, always, 0, 2),
          {.kind = Kind::k_arc_grad,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = 1},
           .infer = arc_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<6>,
           .in_place = over_first_two,
           .traits = {.row_wise = RowWise::kNever,
                      .pointwise = true,
                      .keeps_zero = never,
                      .through_convolution = false,
                      .follows_product = false}}};
}

}  // namespace pantoum::ir
