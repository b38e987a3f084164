// Losses, their gradients, and the count of right answers.
#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Result<void> check_scores(const TensorType& scores) {
  if (!is_float(scores.dtype)) return refuse("the scores must be floating point");
  if (scores.shape.size() < 2) return refuse("the scores must have two dimensions or more");
  return {};
}

Result<void> check_labels(const TensorType& scores, const TensorType& labels) {
  PANTOUM_TRY(check_scores(scores));
  if (labels.dtype != DType::kI64) return refuse("the labels must be i64");
  Shape expected = scores.shape;
  expected.erase(expected.begin() + 1);
  return want_shape(labels, expected, "the labels");
}

Types class_loss_rule(const OpTypes& types) {
  PANTOUM_TRY(check_labels(types.inputs[0], types.inputs[1]));
  return std::vector<TensorType>{{types.inputs[0].dtype, {}}};
}

Types class_loss_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(check_labels(types.inputs[0], types.inputs[1]));
  return std::vector<TensorType>{types.inputs[0]};
}

Types count_correct_rule(const OpTypes& types) {
  PANTOUM_TRY(check_labels(types.inputs[0], types.inputs[1]));
  if (types.attrs.ints[1] < 1) return refuse("the right answers among the 0 highest cannot be counted");
  return std::vector<TensorType>{{types.inputs[0].dtype, {2}}};
}

Types soft_loss_rule(const OpTypes& types) {
  PANTOUM_TRY(check_scores(types.inputs[0]));
  PANTOUM_TRY(same_as_first(types));
  return std::vector<TensorType>{{types.inputs[0].dtype, {}}};
}

Types soft_loss_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(check_scores(types.inputs[0]));
  return same_as_first(types);
}

Types element_loss_rule(const OpTypes& types) {
  PANTOUM_TRY(same_as_first(types));
  return std::vector<TensorType>{{types.inputs[0].dtype, {}}};
}

// The gradient by the prediction: an op with the loss's inputs and attributes. Where the loss is what is minimized,
// there is nothing to multiply by but its weight.
template <Kind kGrad>
ValueId prediction_gradient(Backward& back) {
  const ValueId dx = back.builder.op(kGrad, back.op.name + ".dx", back.op.inputs, back.op.attrs);
  if (back.d_outputs[0] == kNone) return back.builder.scale(dx, back.weight);
  return back.builder.op(Kind::k_mul, back.op.name + ".chain", {dx, back.d_outputs[0]});
}

template <Kind kGrad>
void gradient_of_prediction(Backward& back) {
  if (back.wanted[0]) back.d_inputs[0] = prediction_gradient<kGrad>(back);
}

// Of losses of pred - target.
template <Kind kGrad>
void gradient_of_both(Backward& back) {
  const ValueId dx = prediction_gradient<kGrad>(back);
  if (back.wanted[0]) back.d_inputs[0] = dx;
  if (back.wanted[1]) back.d_inputs[1] = back.builder.op(Kind::k_neg, back.op.name + ".dtarget", {dx});
}

struct Family {
  Signature signature;
  Types (*loss)(const OpTypes&);
  Types (*grad)(const OpTypes&);
  Pairs (*grad_in_place)(const OpTypes&);
};

template <int kFlops, int kGradFlops>
void append(std::vector<OpDef>& ops, Kind loss, Kind grad, const Family& family, void (*gradient)(Backward&)) {
  ops.push_back({.kind = loss,
                 .signature = family.signature,
                 .infer = family.loss,
                 .gradient = gradient,
                 .cost = flops_per_input<kFlops>,
                 .traits = kNoTraits,
                 .begins_chain = true});
  ops.push_back({.kind = grad,
                 .signature = family.signature,
                 .infer = family.grad,
                 .gradient = kNoGradient,
                 .cost = flops_per_input<kGradFlops>,
                 .in_place = family.grad_in_place,
                 .traits = kNoTraits});
}

Signature two(int ints, int reals) {
  return {.min_inputs = 2, .max_inputs = 2, .ints = ints, .reals = reals};
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> loss_ops() {
  using enum Kind;
  const Family by_label{two(1, 1), class_loss_rule, class_loss_grad_rule, over_first};
  const Family by_probability{two(0, 1), soft_loss_rule, soft_loss_grad_rule, over_first_two};
  const Family by_element{two(0, 0), element_loss_rule, same_as_first, over_first_two};
  Family log_likelihood = by_label, with_number = by_element;
  log_likelihood.signature = two(1, 0);
  with_number.signature = two(0, 1);
  std::vector<OpDef> ops;
  append<20, 36>(ops, k_cross_entropy, k_cross_entropy_grad, by_label, gradient_of_prediction<k_cross_entropy_grad>);
  append<24, 40>(ops, k_soft_cross_entropy, k_soft_cross_entropy_grad, by_probability,
                 gradient_of_prediction<k_soft_cross_entropy_grad>);
  append<1, 1>(ops, k_nll, k_nll_grad, log_likelihood, gradient_of_prediction<k_nll_grad>);
  append<3, 2>(ops, k_mse, k_mse_grad, by_element, gradient_of_both<k_mse_grad>);
  append<2, 2>(ops, k_l1, k_l1_grad, by_element, gradient_of_both<k_l1_grad>);
  append<5, 4>(ops, k_smooth_l1, k_smooth_l1_grad, with_number, gradient_of_both<k_smooth_l1_grad>);
  append<40, 24>(ops, k_bce_with_logits, k_bce_with_logits_grad, by_element,
                 gradient_of_prediction<k_bce_with_logits_grad>);
  append<24, 1>(ops, k_kl_div, k_kl_div_grad, with_number, gradient_of_prediction<k_kl_div_grad>);
  ops.push_back({.kind = k_count_correct,
                 .signature = two(2, 0),
                 .infer = count_correct_rule,
                 .gradient = kNoGradient,
                 .cost = flops_per_input<3>,
                 .traits = kNoTraits});
  return ops;
}

}  // namespace pantoum::ir
