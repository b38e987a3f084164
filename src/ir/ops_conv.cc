// conv2d and its gradients.
#include <fmt/format.h>

#include <algorithm>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Result<Shape> conv_shape(const TensorType& x, const TensorType& w, const std::vector<int64_t>& ints) {
  PANTOUM_TRY(want_rank(x, 4, "the image"));
  PANTOUM_TRY(want_rank(w, 4, "the weight"));
  const int64_t groups = ints[PT_CONV_GROUPS];
  if (groups < 1 || x.shape[1] % groups != 0 || w.shape[0] % groups != 0) {
    return refuse(fmt::format("{} groups do not divide {} channels into {}", groups, x.shape[1], w.shape[0]));
  }
  if (w.shape[1] != x.shape[1] / groups) {
    return refuse(fmt::format("the weight {} wants {} channels per group, the image has {}", to_text(w.shape),
                              w.shape[1], x.shape[1] / groups));
  }
  PANTOUM_ASSIGN(const int64_t height,
                 positions_of({x.shape[2], w.shape[2], ints[PT_CONV_STRIDE_H], ints[PT_CONV_PAD_TOP],
                               ints[PT_CONV_PAD_BOTTOM], ints[PT_CONV_DILATION_H]}));
  PANTOUM_ASSIGN(const int64_t width,
                 positions_of({x.shape[3], w.shape[3], ints[PT_CONV_STRIDE_W], ints[PT_CONV_PAD_LEFT],
                               ints[PT_CONV_PAD_RIGHT], ints[PT_CONV_DILATION_W]}));
  return Shape{x.shape[0], w.shape[0], height, width};
}

Types conv_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_ASSIGN(const Shape shape, conv_shape(types.inputs[0], types.inputs[1], types.attrs.ints));
  if (types.inputs.size() == 3) PANTOUM_TRY(want_shape(types.inputs[2], {shape[1]}, "the bias"));
  return std::vector<TensorType>{{dtype, shape}};
}

Types conv_dx_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_ASSIGN(const Shape shape, conv_shape(types.outputs[0], types.inputs[1], types.attrs.ints));
  PANTOUM_TRY(want_shape(types.inputs[0], shape, "the output's gradient"));
  return std::vector<TensorType>{{dtype, types.outputs[0].shape}};
}

Types conv_dw_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_ASSIGN(const Shape shape, conv_shape(types.inputs[0], types.outputs[0], types.attrs.ints));
  PANTOUM_TRY(want_shape(types.inputs[1], shape, "the output's gradient"));
  return std::vector<TensorType>{{dtype, types.outputs[0].shape}};
}

bool takes_dx(int64_t op) {
  return std::ranges::any_of(all_op_defs(), [op](const OpDef& def) {
    return static_cast<int64_t>(def.kind) == op && def.traits.through_convolution;
  });
}

// The gradient of the convolution's input, then through an activation's, which reads R.
Types conv_dz_rule(const OpTypes& types) {
  PANTOUM_TRY(conv_dx_rule(types));
  if (!takes_dx(types.attrs.ints[PT_CONV_DZ_GRADIENT])) return refuse("it knows no such activation");
  PANTOUM_TRY(want_shape(types.inputs[2], types.outputs[0].shape, "what the activation's gradient reads"));
  return std::vector<TensorType>{types.outputs[0]};
}

Pairs over_third(const OpTypes&) {
  return {{0, 2}};
}

// 2 for every weight at every output position: all ops do the same multiply-adds.
OpCost conv_flops(const OpTypes& types, const TensorType& w, const TensorType& y) {
  const double per_output = static_cast<double>(w.shape[1] * w.shape[2] * w.shape[3]);
  return operand_bytes(types, 2.0 * static_cast<double>(y.elements()) * per_output);
}
OpCost conv_cost(const OpTypes& types) {
  return conv_flops(types, types.inputs[1], types.outputs[0]);
}
OpCost conv_dx_cost(const OpTypes& types) {
  return conv_flops(types, types.inputs[1], types.inputs[0]);
}
OpCost conv_dz_cost(const OpTypes& types) {
  OpCost cost = conv_dx_cost(types);
  const Attrs own{{types.attrs.ints[PT_CONV_DZ_FLAG]}, {}};
  const TensorType both[] = {types.outputs[0], types.outputs[0]};
  const auto gradient = static_cast<Kind>(types.attrs.ints[PT_CONV_DZ_GRADIENT]);
  cost.flops += op_def(gradient).cost({both, types.outputs, own}).flops;
  return cost;
}
OpCost conv_dw_cost(const OpTypes& types) {
  return conv_flops(types, types.outputs[0], types.inputs[1]);
}

void conv_gradient(Backward& back) {
  Builder& builder = back.builder;
  const ValueId x = back.op.inputs[0], w = back.op.inputs[1], dy = back.d_outputs[0];
  const TensorType x_type = builder.type(x), w_type = builder.type(w);
  if (back.wanted[1]) {
    back.d_inputs[1] = builder.op(Kind::k_conv2d_dw, back.op.name + ".dw", {x, dy}, back.op.attrs, {w_type});
  }
  if (back.op.inputs.size() == 3 && back.wanted[2]) {
    constexpr int64_t kAllButChannels = 0b1101;
    back.d_inputs[2] = builder.op(Kind::k_reduce_sum, back.op.name + ".db", {dy}, {{kAllButChannels}, {}});
  }
  if (back.wanted[0]) {
    back.d_inputs[0] = builder.op(Kind::k_conv2d_dx, back.op.name + ".dx", {dy, w}, back.op.attrs, {x_type});
  }
}

// conv2d_dx is a transposed convolution: the roles of image and output are exchanged.
void conv_dx_gradient(Backward& back) {
  Builder& builder = back.builder;
  const ValueId x = back.op.inputs[0], w = back.op.inputs[1], dy = back.d_outputs[0];
  const TensorType w_type = builder.type(w);
  if (back.wanted[1]) {
    back.d_inputs[1] = builder.op(Kind::k_conv2d_dw, back.op.name + ".dw", {dy, x}, back.op.attrs, {w_type});
  }
  if (back.wanted[0]) back.d_inputs[0] = builder.op(Kind::k_conv2d, back.op.name + ".dx", {dy, w}, back.op.attrs);
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> conv_ops() {
  return {{.kind = Kind::k_conv2d,
           .signature = {.min_inputs = 2, .max_inputs = 3, .ints = PT_CONV_ATTRS},
           .infer = conv_rule,
           .gradient = conv_gradient,
           .cost = conv_cost,
           .traits = rows_by(RowWise::kFirstInput)},
          {.kind = Kind::k_conv2d_dx,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = PT_CONV_ATTRS},
           .infer = conv_dx_rule,
           .gradient = conv_dx_gradient,
           .cost = conv_dx_cost,
           .traits = rows_by(RowWise::kFirstInput)},
          {.kind = Kind::k_conv2d_dw,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = PT_CONV_ATTRS},
           .infer = conv_dw_rule,
           .gradient = kNoGradient,
           .cost = conv_dw_cost,
           .traits = kNoTraits},
          {.kind = Kind::k_conv2d_dz,
           .signature = {.min_inputs = 3, .max_inputs = 3, .ints = PT_CONV_DZ_ATTRS, .reals = 3},
           .infer = conv_dz_rule,
           .gradient = kNoGradient,
           .cost = conv_dz_cost,
           .in_place = over_third,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
