// Sums, means and maxima over dimensions, and their opposite, expand.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

bool is_summed(int64_t mask, size_t dimension) {
  return (mask >> dimension & 1) != 0;
}

Types kept_dimensions(const OpTypes& types) {
  const Shape& from = types.inputs[0].shape;
  const int64_t mask = types.attrs.ints[0];
  if (mask < 0 || mask >> from.size() != 0) {
    return refuse(fmt::format("the mask {} names dimensions that it does not have", mask));
  }
  Shape kept;
  for (size_t d = 0; d < from.size(); ++d) {
    if (!is_summed(mask, d)) kept.push_back(from[d]);
  }
  return std::vector<TensorType>{{types.inputs[0].dtype, kept}};
}

Types reduce_mean_rule(const OpTypes& types) {
  PANTOUM_TRY(float_dtype(types.inputs));
  return kept_dimensions(types);
}

// Floating point or integers.
Types reduce_sum_rule(const OpTypes& types) {
  if (!is_integer(types.inputs[0].dtype)) return reduce_mean_rule(types);
  return kept_dimensions(types);
}

// Whatever has an order.
Types reduce_max_rule(const OpTypes& types) {
  return kept_dimensions(types);
}

Types expand_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  const DType dtype = types.inputs[0].dtype;
  if (!is_float(dtype) && types.attrs.reals[0] != 1) return refuse("only floating-point numbers are scaled");
  const Shape& to = types.outputs[0].shape;
  if (!broadcasts_to(types.inputs[0].shape, to)) return refuse(fmt::format("it does not broadcast to {}", to_text(to)));
  return std::vector<TensorType>{{dtype, to}};
}

Types reduce_max_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(float_dtype(types.inputs));
  PANTOUM_ASSIGN(const std::vector<TensorType> reduced,
                 reduce_mean_rule({types.inputs.subspan(1, 1), {}, types.attrs}));
  PANTOUM_TRY(want_shape(types.inputs[0], reduced[0].shape, "the output's gradient"));
  PANTOUM_TRY(want_shape(types.inputs[2], reduced[0].shape, "the maximum"));
  return std::vector<TensorType>{types.inputs[1]};
}

void reduce_max_gradient(Backward& back) {
  back.d_inputs[0] = back.builder.op(Kind::k_reduce_max_grad, back.op.name + ".dx",
                                     {back.d_outputs[0], back.op.inputs[0], back.op.outputs[0]}, back.op.attrs);
}

// Puts the summed dimensions back as 1s and spreads a * dY over them.
void spread(Backward& back, bool mean) {
  const TensorType x = back.builder.type(back.op.inputs[0]);
  Shape kept = x.shape;
  double count = 1;
  for (size_t d = 0; d < kept.size(); ++d) {
    if (!is_summed(back.op.attrs.ints[0], d)) continue;
    count *= static_cast<double>(kept[d]);
    kept[d] = 1;
  }
  const double a = mean ? 1 / count : 1;
  const ValueId dy = back.builder.reshape(back.d_outputs[0], kept);
  back.d_inputs[0] = kept == x.shape ? back.builder.scale(dy, a)
                                     : back.builder.op(Kind::k_expand, back.op.name + ".dx", {dy}, {{}, {a}}, {x});
}

void reduce_sum_gradient(Backward& back) {
  spread(back, false);
}
void reduce_mean_gradient(Backward& back) {
  spread(back, true);
}

void expand_gradient(Backward& back) {
  const Shape shape = back.builder.type(back.op.inputs[0]).shape;
  back.d_inputs[0] = back.builder.scale(back.builder.sum_to(back.d_outputs[0], shape), back.op.attrs.reals[0]);
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> reduce_ops() {
  return {{.kind = Kind::k_reduce_sum,
           .signature = {.ints = 1},
           .infer = reduce_sum_rule,
           .gradient = reduce_sum_gradient,
           .cost = flops_per_input<1>,
           .traits = rows_by(RowWise::kReduced)},
          {.kind = Kind::k_reduce_mean,
           .signature = {.ints = 1},
           .infer = reduce_mean_rule,
           .gradient = reduce_mean_gradient,
           .cost = flops_per_input<1>,
           .traits = rows_by(RowWise::kReduced)},
          {.kind = Kind::k_reduce_max,
           .signature = {.ints = 1},
           .infer = reduce_max_rule,
           .gradient = reduce_max_gradient,
           .cost = flops_per_input<1>,
           .traits = rows_by(RowWise::kReduced)},
          {.kind = Kind::k_reduce_max_grad,
           .signature = {.min_inputs = 3, .max_inputs = 3, .ints = 1},
           .infer = reduce_max_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<3>,
           .traits = kNoTraits},
          {.kind = Kind::k_expand,
           .signature = {.reals = 1},
           .infer = expand_rule,
           .gradient = expand_gradient,
           .cost = flops_per_output<1>,
           .traits = rows_by(RowWise::kBroadcast)}};
}

}  // namespace pantoum::ir
