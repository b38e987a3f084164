// Batch and layer normalization.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// Inputs [first, ..) are vectors with one element per channel of X.
Result<DType> check_channels(const OpTypes& types, const TensorType& x, size_t first) {
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  if (x.shape.size() < 2) return refuse("its input must have two dimensions or more");
  for (size_t input = first; input < types.inputs.size(); ++input) {
    PANTOUM_TRY(want_shape(types.inputs[input], {x.shape[1]}, "a vector over the channels"));
  }
  return dtype;
}

Types batch_norm_rule(const OpTypes& types) {
  const TensorType& x = types.inputs[0];
  PANTOUM_ASSIGN(const DType dtype, check_channels(types, x, 1));
  const TensorType channels{dtype, {x.shape[1]}};
  return std::vector<TensorType>{x, channels, channels};
}

Types batch_norm_grad_rule(const OpTypes& types) {
  const TensorType& x = types.inputs[1];
  PANTOUM_ASSIGN(const DType dtype, check_channels(types, x, 2));
  PANTOUM_TRY(want_shape(types.inputs[0], x.shape, "the output's gradient"));
  const TensorType channels{dtype, {x.shape[1]}};
  return std::vector<TensorType>{x, channels, channels};
}

Types batch_norm_stats_rule(const OpTypes& types) {
  PANTOUM_TRY(same_as_first(types));
  PANTOUM_TRY(want_rank(types.inputs[0], 1, "a statistic"));
  if (types.attrs.ints[0] < 1) return refuse("the count per channel must be 1 or more");
  return std::vector<TensorType>{types.inputs[0], types.inputs[1]};
}

Types batch_norm_eval_rule(const OpTypes& types) {
  PANTOUM_TRY(check_channels(types, types.inputs[0], 1));
  return std::vector<TensorType>{types.inputs[0]};
}

Result<void> want_activation(const OpTypes& types) {
  if (!is_norm_activation(static_cast<Kind>(types.attrs.ints[PT_NORM_ACTIVATION])))
    return refuse("the activation behind it is none that it knows");
  return {};
}

Types batch_norm_act_rule(const OpTypes& types) {
  PANTOUM_TRY(want_activation(types));
  return batch_norm_rule(types);
}
Types batch_norm_act_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(want_activation(types));
  return batch_norm_grad_rule(types);
}
Types batch_norm_act_eval_rule(const OpTypes& types) {
  PANTOUM_TRY(want_activation(types));
  return batch_norm_eval_rule(types);
}

void batch_norm_gradient(Backward& back) {
  const std::vector<ValueId>& in = back.op.inputs;
  const std::vector<ValueId>& out = back.op.outputs;
  if (back.d_outputs[0] == kNone) return;
  const std::vector<ValueId> made = back.builder.add(Kind::k_batch_norm_grad, back.op.name + ".grad",
                                                     {back.d_outputs[0], in[0], in[1], out[1], out[2]}, back.op.attrs);
  for (size_t input = 0; input < 3; ++input) back.d_inputs[input] = made[input];
}

void batch_norm_act_gradient(Backward& back) {
  const std::vector<ValueId>& in = back.op.inputs;
  const std::vector<ValueId>& out = back.op.outputs;
  if (back.d_outputs[0] == kNone) return;
  const std::vector<ValueId> made =
      back.builder.add(Kind::k_batch_norm_act_grad, back.op.name + ".grad",
                       {back.d_outputs[0], in[0], in[1], in[2], out[1], out[2]}, back.op.attrs);
  for (size_t input = 0; input < 3; ++input) back.d_inputs[input] = made[input];
}

// Of ops that are there anyway: only networks whose statistics are frozen and whose norms are not come here.
void batch_norm_eval_gradient(Backward& back) {
  const ValueId d = back.d_outputs[0], x = back.op.inputs[0], scale = back.op.inputs[1], mean = back.op.inputs[3];
  if (d == kNone) return;
  Builder& builder = back.builder;
  const Shape channels = builder.type(scale).shape;
  Shape wide(builder.type(x).shape.size() - 1, 1);  // broadcast against X
  wide[0] = channels[0];
  const std::string name = back.op.name + ".grad";
  const ValueId variance = builder.scale(back.op.inputs[4], 1, back.op.attrs.reals[0]);
  const ValueId deviation = builder.op(Kind::k_sqrt, name + ".deviation", {variance});
  const auto binary = [&](Kind kind, const char* what, ValueId a, ValueId b) {
    return builder.op(kind, name + what, {a, b});
  };
  const auto over_channels = [&](ValueId value) { return builder.reshape(builder.sum_to(value, wide), channels); };
  if (back.wanted[0]) {
    const ValueId factor = binary(Kind::k_div, ".factor", scale, deviation);
    back.d_inputs[0] = binary(Kind::k_mul, ".dx", d, builder.reshape(factor, wide));
  }
  if (back.wanted[1]) {
    const ValueId centered = binary(Kind::k_sub, ".centered", x, builder.reshape(mean, wide));
    const ValueId sum = over_channels(binary(Kind::k_mul, ".product", d, centered));
    back.d_inputs[1] = binary(Kind::k_div, ".dscale", sum, deviation);
  }
  if (back.wanted[2]) back.d_inputs[2] = over_channels(d);
}

// The shape of the rows' statistics: the dimensions before the axis.
Result<Shape> check_layer(const OpTypes& types, const TensorType& x, const TensorType& scale) {
  const int64_t axis = types.attrs.ints[0];
  PANTOUM_TRY(float_dtype(types.inputs));
  PANTOUM_TRY(want_axis(axis, x.shape.size()));
  PANTOUM_TRY(want_shape(scale, Shape(x.shape.begin() + axis, x.shape.end()), "the scale"));
  return Shape(x.shape.begin(), x.shape.begin() + axis);
}

Types layer_norm_rule(const OpTypes& types) {
  const TensorType &x = types.inputs[0], &scale = types.inputs[1];
  PANTOUM_ASSIGN(const Shape rows, check_layer(types, x, scale));
  PANTOUM_TRY(want_shape(types.inputs[2], scale.shape, "the bias"));
  const TensorType statistic{x.dtype, rows};
  return std::vector<TensorType>{x, statistic, statistic};
}

Types layer_norm_grad_rule(const OpTypes& types) {
  const TensorType &x = types.inputs[1], &scale = types.inputs[2];
  PANTOUM_ASSIGN(const Shape rows, check_layer(types, x, scale));
  PANTOUM_TRY(want_shape(types.inputs[0], x.shape, "the output's gradient"));
  PANTOUM_TRY(want_shape(types.inputs[3], rows, "the mean"));
  PANTOUM_TRY(want_shape(types.inputs[4], rows, "the inverse deviation"));
  return std::vector<TensorType>{x, scale, scale};
}

void layer_norm_gradient(Backward& back) {
  const std::vector<ValueId>& in = back.op.inputs;
  const std::vector<ValueId>& out = back.op.outputs;
  if (back.d_outputs[0] == kNone) return;
  const std::vector<ValueId> made =
      back.builder.add(Kind::k_layer_norm_grad, back.op.name + ".grad",
                       {back.d_outputs[0], in[0], in[1], out[1], out[2]}, {back.op.attrs.ints, {}});
  for (size_t input = 0; input < 3; ++input) back.d_inputs[input] = made[input];
}

Pairs statistics_in_place(const OpTypes&) {
  return {{0, 0}, {1, 1}};
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> norm_ops() {
  const Signature forward{.min_inputs = 3, .max_inputs = 3, .min_outputs = 3, .max_outputs = 3, .reals = 1};
  const Signature layer{.min_inputs = 3, .max_inputs = 3, .min_outputs = 3, .max_outputs = 3, .ints = 1, .reals = 1};
  return {{.kind = Kind::k_batch_norm,
           .signature = forward,
           .infer = batch_norm_rule,
           .gradient = batch_norm_gradient,
           .cost = flops_per_output<7>,
           .in_place = over_first,
           .traits = kNoTraits},
          {.kind = Kind::k_batch_norm_grad,
           .signature = {.min_inputs = 5, .max_inputs = 5, .min_outputs = 3, .max_outputs = 3, .reals = 1},
           .infer = batch_norm_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<11>,
           .in_place = over_first_two,
           .traits = kNoTraits},
          {.kind = Kind::k_batch_norm_stats,
           .signature = {.min_inputs = 4, .max_inputs = 4, .min_outputs = 2, .max_outputs = 2, .ints = 1, .reals = 1},
           .infer = batch_norm_stats_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<7>,
           .in_place = statistics_in_place,
           .recompute = false,
           .traits = kNoTraits},
          {.kind = Kind::k_batch_norm_eval,
           .signature = {.min_inputs = 5, .max_inputs = 5, .reals = 1},
           .infer = batch_norm_eval_rule,
           .gradient = batch_norm_eval_gradient,
           .cost = flops_per_output<2>,
           .in_place = over_first,
           .traits = rows_by(RowWise::kFirstInput)},
          {.kind = Kind::k_batch_norm_act,
           .signature = {.min_inputs = 3,
                         .max_inputs = 3,
                         .min_outputs = 3,
                         .max_outputs = 3,
                         .ints = PT_NORM_ACT_ATTRS,
                         .reals = PT_NORM_ACT_REALS},
           .infer = batch_norm_act_rule,
           .gradient = batch_norm_act_gradient,
           .cost = flops_per_output<8>,
           .in_place = over_first,
           .traits = kNoTraits},
          {.kind = Kind::k_batch_norm_act_grad,
           .signature = {.min_inputs = 6,
                         .max_inputs = 6,
                         .min_outputs = 3,
                         .max_outputs = 3,
                         .ints = PT_NORM_ACT_ATTRS,
                         .reals = PT_NORM_ACT_REALS},
           .infer = batch_norm_act_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<17>,
           .in_place = over_first_two,
           .traits = kNoTraits},
          {.kind = Kind::k_batch_norm_act_eval,
           .signature = {.min_inputs = 5, .max_inputs = 5, .ints = PT_NORM_ACT_ATTRS, .reals = PT_NORM_ACT_REALS},
           .infer = batch_norm_act_eval_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<3>,
           .in_place = over_first,
           .traits = kNoTraits},
          {.kind = Kind::k_layer_norm,
           .signature = layer,
           .infer = layer_norm_rule,
           .gradient = layer_norm_gradient,
           .cost = flops_per_output<8>,
           .in_place = over_first,
           .traits = rows_by(RowWise::kBehindAxis)},
          {.kind = Kind::k_layer_norm_grad,
           .signature = {.min_inputs = 5, .max_inputs = 5, .min_outputs = 3, .max_outputs = 3, .ints = 1},
           .infer = layer_norm_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<14>,
           .in_place = over_first_two,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
