// Element by element on two tensors or more, with broadcasting: arithmetic, comparing and choosing.
#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

void add_gradient(Backward& back) {
  for (size_t input : {0u, 1u}) {
    if (back.wanted[input]) sum_to_input(back, input, back.d_outputs[0]);
  }
}

void sub_gradient(Backward& back) {
  if (back.wanted[0]) sum_to_input(back, 0, back.d_outputs[0]);
  if (!back.wanted[1]) return;
  sum_to_input(back, 1, back.d_outputs[0]);  // summed first: there is less left to negate
  back.d_inputs[1] = make(back, k_neg, ".db", {back.d_inputs[1]});
}

void mul_gradient(Backward& back) {
  const char* const suffix[] = {".da", ".db"};
  for (size_t input : {0u, 1u}) {
    if (!back.wanted[input]) continue;
    const ValueId other = back.op.inputs[1 - input];
    sum_to_input(back, input, make(back, k_mul, suffix[input], {back.d_outputs[0], other}));
  }
}

// Y = A / B: dA = dY / B, dB = -(dY / B) Y.
void div_gradient(Backward& back) {
  const ValueId da = make(back, k_div, ".da", {back.d_outputs[0], back.op.inputs[1]});
  if (back.wanted[1]) {
    sum_to_input(back, 1, make(back, k_mul, ".db", {da, back.op.outputs[0]}));
    back.d_inputs[1] = make(back, k_neg, ".db.neg", {back.d_inputs[1]});
  }
  if (back.wanted[0]) sum_to_input(back, 0, da);
}

// Y = A^B: dA = dY B A^(B-1), dB = dY Y log A (A > 0), 0 where A is 0.
void pow_gradient(Backward& back) {
  const ValueId a = back.op.inputs[0], b = back.op.inputs[1], dy = back.d_outputs[0];
  if (back.wanted[1]) {
    const ValueId dy_y = make(back, k_mul, ".db.y", {dy, back.op.outputs[0]});
    const ValueId zero = back.builder.constant_f32(back.op.name + ".zero", {}, {0.0F}),
                  one = back.builder.constant_f32(back.op.name + ".one", {}, {1.0F});
    const ValueId is_zero = make(back, k_compare, ".db.zero", {a, zero}, {{PT_COMPARE_EQUAL}, {}});
    const ValueId log_a = make(back, k_log, ".db.log", {make(back, k_where, ".db.some", {is_zero, one, a})});
    sum_to_input(back, 1, make(back, k_mul, ".db", {dy_y, log_a}));
  }
  if (back.wanted[0]) sum_to_input(back, 0, make(back, k_pow_grad, ".da", {dy, a, b}));
}

OpDef binary(Kind kind, void (*gradient)(Backward&), OpCost (*cost)(const OpTypes&), bool (*keeps_zero)(const Attrs&)) {
  return forward_op(kind, gradient, cost, pointwise(kBroadcast, keeps_zero), over_equal_inputs);
}

// The part of dY that the condition lets through to A, and the rest to B.
void where_gradient(Backward& back) {
  const ValueId condition = back.op.inputs[0], dy = back.d_outputs[0];
  const ValueId zero = back.builder.constant_f32(back.op.name + ".zero", {}, {0.0F});
  if (back.wanted[1]) {
    sum_to_input(back, 1, make(back, k_where, ".da", {condition, dy, zero}));
  }
  if (back.wanted[2]) {
    sum_to_input(back, 2, make(back, k_where, ".db", {condition, zero, dy}));
  }
}

// The gradient of each input of maximum is maximum_grad with that input first; of minimum, with the other one first.
template <bool kMaximum>
void extreme_gradient(Backward& back) {
  const char* const suffix[] = {".da", ".db"};
  for (size_t input : {0u, 1u}) {
    if (!back.wanted[input]) continue;
    const size_t first = kMaximum ? input : 1 - input;
    const std::vector<ValueId> operands = {back.d_outputs[0], back.op.inputs[first], back.op.inputs[1 - first]};
    sum_to_input(back, input, make(back, k_maximum_grad, suffix[input], operands));
  }
}

}  // namespace

std::vector<OpDef> binary_ops() {
  return {
      binary(k_add, add_gradient, flops_per_output<1>, always),
      binary(k_sub, sub_gradient, flops_per_output<1>, always),
      binary(k_mul, mul_gradient, flops_per_output<1>, always),
      binary(k_div, div_gradient, flops_per_output<4>, never),
      binary(k_pow, pow_gradient, flops_per_output<40>, never),
      binary(k_mod, kNoGradient, flops_per_output<4>, never),
      binary(k_bitwise, kNoGradient, flops_per_output<1>, never),
      forward_op(k_pow_grad, kNoGradient, flops_per_output<44>, pointwise(kNever, never), over_equal_inputs),
      forward_op(k_compare, kNoGradient, flops_per_output<1>, rows_by(kBroadcast)),
      forward_op(k_where, where_gradient, flops_per_output<1>, rows_by(kBroadcast), over_equal_inputs),
      forward_op(k_maximum, extreme_gradient<true>, flops_per_output<1>, rows_by(kBroadcast), over_equal_inputs),
      forward_op(k_minimum, extreme_gradient<false>, flops_per_output<1>, rows_by(kBroadcast), over_equal_inputs),
      backward_op(k_maximum_grad, flops_per_output<2>, over_equal_inputs),
  };
}

}  // namespace pantoum::ir
