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
  back.d_inputs[1] = back.builder.op(Kind::k_neg, back.op.name + ".db", {back.d_inputs[1]});
}

void mul_gradient(Backward& back) {
  const char* const suffix[] = {".da", ".db"};
  for (size_t input : {0u, 1u}) {
    if (!back.wanted[input]) continue;
    const ValueId other = back.op.inputs[1 - input];
    sum_to_input(back, input, back.builder.op(Kind::k_mul, back.op.name + suffix[input], {back.d_outputs[0], other}));
  }
}

// Y = A / B: dA = dY / B, dB = -(dY / B) Y.
void div_gradient(Backward& back) {
  Builder& builder = back.builder;
  const std::string& name = back.op.name;
  const ValueId da = builder.op(Kind::k_div, name + ".da", {back.d_outputs[0], back.op.inputs[1]});
  if (back.wanted[1]) {
    sum_to_input(back, 1, builder.op(Kind::k_mul, name + ".db", {da, back.op.outputs[0]}));
    back.d_inputs[1] = builder.op(Kind::k_neg, name + ".db.neg", {back.d_inputs[1]});
  }
  if (back.wanted[0]) sum_to_input(back, 0, da);
}

// Y = A^B: dA = dY B A^(B-1), dB = dY Y log A (A > 0).
void pow_gradient(Backward& back) {
  Builder& builder = back.builder;
  const std::string& name = back.op.name;
  const ValueId a = back.op.inputs[0], b = back.op.inputs[1], dy = back.d_outputs[0];
  if (back.wanted[1]) {
    const ValueId dy_y = builder.op(Kind::k_mul, name + ".db.y", {dy, back.op.outputs[0]});
    const ValueId log_a = builder.op(Kind::k_log, name + ".db.log", {a});
    sum_to_input(back, 1, builder.op(Kind::k_mul, name + ".db", {dy_y, log_a}));
  }
  if (back.wanted[0]) sum_to_input(back, 0, builder.op(Kind::k_pow_grad, name + ".da", {dy, a, b}));
}

OpDef binary(Kind kind, void (*gradient)(Backward&), OpCost (*cost)(const OpTypes&), bool (*keeps_zero)(const Attrs&)) {
  return forward_op(kind, gradient, cost, pointwise(RowWise::kBroadcast, keeps_zero), over_equal_inputs);
}

// The part of dY that the condition lets through to A, and the rest to B.
void where_gradient(Backward& back) {
  const ValueId condition = back.op.inputs[0], dy = back.d_outputs[0];
  const ValueId zero = back.builder.constant_f32(back.op.name + ".zero", {}, {0.0F});
  if (back.wanted[1]) {
    sum_to_input(back, 1, back.builder.op(Kind::k_where, back.op.name + ".da", {condition, dy, zero}));
  }
  if (back.wanted[2]) {
    sum_to_input(back, 2, back.builder.op(Kind::k_where, back.op.name + ".db", {condition, zero, dy}));
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
    sum_to_input(back, input, back.builder.op(Kind::k_maximum_grad, back.op.name + suffix[input], operands));
  }
}

}  // namespace

std::vector<OpDef> binary_ops() {
  return {
      binary(Kind::k_add, add_gradient, flops_per_output<1>, always),
      binary(Kind::k_sub, sub_gradient, flops_per_output<1>, always),
      binary(Kind::k_mul, mul_gradient, flops_per_output<1>, always),
      binary(Kind::k_div, div_gradient, flops_per_output<4>, never),
      binary(Kind::k_pow, pow_gradient, flops_per_output<40>, never),
      binary(Kind::k_mod, kNoGradient, flops_per_output<4>, never),
      binary(Kind::k_bitwise, kNoGradient, flops_per_output<1>, never),
      forward_op(Kind::k_pow_grad, kNoGradient, flops_per_output<44>, pointwise(RowWise::kNever, never),
                 over_equal_inputs),
      forward_op(Kind::k_compare, kNoGradient, flops_per_output<1>, rows_by(RowWise::kBroadcast)),
      forward_op(Kind::k_where, where_gradient, flops_per_output<1>, rows_by(RowWise::kBroadcast), over_equal_inputs),
      forward_op(Kind::k_maximum, extreme_gradient<true>, flops_per_output<1>, rows_by(RowWise::kBroadcast),
                 over_equal_inputs),
      forward_op(Kind::k_minimum, extreme_gradient<false>, flops_per_output<1>, rows_by(RowWise::kBroadcast),
                 over_equal_inputs),
      backward_op(Kind::k_maximum_grad, flops_per_output<2>, over_equal_inputs),
  };
}

}  // namespace pantoum::ir
