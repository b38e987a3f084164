// add, sub, mul, div, pow, pow_grad, mod, bitwise: element by element with broadcasting.
#include <fmt/format.h>

#include "ir/gradient_rules.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// Of integers alone: floating-point remainders are made of div and round. No gradient.
Types mod_rule(const OpTypes& types) {
  if (types.attrs.ints[0] < 0 || types.attrs.ints[0] > 1) return refuse("a flag must be 0 or 1");
  return one_type_rule(types, is_integer);
}

bool has_bits(DType dtype) {
  return is_integer(dtype) || dtype == DType::kBool;
}

Types bitwise_rule(const OpTypes& types) {
  const int64_t operation = types.attrs.ints[0];
  if (operation < 0 || operation >= PT_BITWISE_COUNT)
    return refuse(fmt::format("the operation {} is unknown", operation));
  const bool shifts = operation == PT_BITWISE_SHIFT_LEFT || operation == PT_BITWISE_SHIFT_RIGHT;
  if (shifts && types.inputs[0].dtype != DType::kU8) return refuse("only unsigned integers are shifted");
  return one_type_rule(types, has_bits);
}

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
  return {.kind = kind,
          .signature = {.min_inputs = 2, .max_inputs = 2},
          .infer = arithmetic_rule,
          .gradient = gradient,
          .cost = cost,
          .in_place = over_equal_inputs,
          .traits = {.row_wise = RowWise::kBroadcast,
                     .pointwise = true,
                     .keeps_zero = keeps_zero,
                     .through_convolution = false,
                     .follows_product = false}};
}

// Of whole numbers and no gradient; one attribute.
OpDef integer_binary(Kind kind, Result<std::vector<TensorType>> (*infer)(const OpTypes&),
                     OpCost (*cost)(const OpTypes&)) {
  return {.kind = kind,
          .signature = {.min_inputs = 2, .max_inputs = 2, .ints = 1},
          .infer = infer,
          .gradient = kNoGradient,
          .cost = cost,
          .in_place = over_equal_inputs,
          .traits = {.row_wise = RowWise::kBroadcast,
                     .pointwise = true,
                     .keeps_zero = never,
                     .through_convolution = false,
                     .follows_product = false}};
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> binary_ops() {
  return {binary(Kind::k_add, add_gradient, flops_per_output<1>, always),
          binary(Kind::k_sub, sub_gradient, flops_per_output<1>, always),
          binary(Kind::k_mul, mul_gradient, flops_per_output<1>, always),
          binary(Kind::k_div, div_gradient, flops_per_output<4>, never),
          binary(Kind::k_pow, pow_gradient, flops_per_output<40>, never),
          integer_binary(Kind::k_mod, mod_rule, flops_per_output<4>),
          integer_binary(Kind::k_bitwise, bitwise_rule, flops_per_output<1>),
          {.kind = Kind::k_pow_grad,
           .signature = {.min_inputs = 3, .max_inputs = 3},
           .infer = elementwise_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<44>,
           .in_place = over_equal_inputs,
           .traits = {.row_wise = RowWise::kNever,
                      .pointwise = true,
                      .keeps_zero = never,
                      .through_convolution = false,
                      .follows_product = false}}};
}

}  // namespace pantoum::ir
