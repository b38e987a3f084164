// Losses, their gradients, and the count of right answers.
#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Result<void> check_labels(const TensorType& logits, const TensorType& labels) {
  if (!is_float(logits.dtype)) return refuse("the logits must be floating point");
  if (labels.dtype != DType::kI64) return refuse("the labels must be i64");
  if (logits.shape.size() < 2) return refuse("the logits must have two dimensions or more");
  Shape expected = logits.shape;
  expected.erase(expected.begin() + 1);
  return want_shape(labels, expected, "the labels");
}

Types cross_entropy_rule(const OpTypes& types) {
  PANTOUM_TRY(check_labels(types.inputs[0], types.inputs[1]));
  return std::vector<TensorType>{{types.inputs[0].dtype, {}}};
}

Types cross_entropy_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(check_labels(types.inputs[0], types.inputs[1]));
  return std::vector<TensorType>{types.inputs[0]};
}

Types count_correct_rule(const OpTypes& types) {
  PANTOUM_TRY(check_labels(types.inputs[0], types.inputs[1]));
  return std::vector<TensorType>{{types.inputs[0].dtype, {2}}};
}

Types mse_rule(const OpTypes& types) {
  PANTOUM_TRY(same_as_first(types));
  return std::vector<TensorType>{{types.inputs[0].dtype, {}}};
}

// The chain from the loss: nothing to multiply by when the loss is what is minimized.
ValueId chained(Backward& back, ValueId gradient) {
  if (back.d_outputs[0] == kNone) return gradient;
  return back.builder.op(Kind::k_mul, back.op.name + ".chain", {gradient, back.d_outputs[0]});
}

void cross_entropy_gradient(Backward& back) {
  if (!back.wanted[0]) return;
  back.d_inputs[0] = chained(back, back.builder.op(Kind::k_cross_entropy_grad, back.op.name + ".dx", back.op.inputs));
}

void mse_gradient(Backward& back) {
  const ValueId dx = chained(back, back.builder.op(Kind::k_mse_grad, back.op.name + ".dx", back.op.inputs));
  if (back.wanted[0]) back.d_inputs[0] = dx;
  if (back.wanted[1]) back.d_inputs[1] = back.builder.op(Kind::k_neg, back.op.name + ".dtarget", {dx});
}

}  // namespace

std::vector<OpDef> loss_ops() {
  const Signature two{.min_inputs = 2, .max_inputs = 2};
  return {
      {.kind = Kind::k_cross_entropy,
       .signature = two,
       .infer = cross_entropy_rule,
       .gradient = cross_entropy_gradient,
       .cost = flops_per_input<20>},
      {.kind = Kind::k_cross_entropy_grad,
       .signature = two,
       .infer = cross_entropy_grad_rule,
       .cost = flops_per_input<36>,
       .in_place = over_first},
      {.kind = Kind::k_mse, .signature = two, .infer = mse_rule, .gradient = mse_gradient, .cost = flops_per_input<3>},
      {.kind = Kind::k_mse_grad,
       .signature = two,
       .infer = same_as_first,
       .cost = flops_per_input<2>,
       .in_place = over_first_two},
      {.kind = Kind::k_count_correct, .signature = two, .infer = count_correct_rule, .cost = flops_per_input<1>}};
}

}  // namespace pantoum::ir
