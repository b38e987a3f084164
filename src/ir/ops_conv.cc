// conv2d and conv3d, and their gradients.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// Attributes of `spatial` dimensions: strides, padding before and after, dilations, groups.
Result<int64_t> conv_extent(const TensorType& x, const TensorType& w, const std::vector<int64_t>& ints, size_t spatial,
                            size_t d) {
  return positions_of(
      {x.shape[2 + d], w.shape[2 + d], ints[d], ints[spatial + d], ints[2 * spatial + d], ints[3 * spatial + d]});
}

Result<Shape> conv_shape(const TensorType& x, const TensorType& w, const std::vector<int64_t>& ints, size_t spatial) {
  PANTOUM_TRY(want_rank(x, 2 + spatial, "the image"));
  PANTOUM_TRY(want_rank(w, 2 + spatial, "the weight"));
  const int64_t groups = ints[4 * spatial];
  if (groups < 1 || x.shape[1] % groups != 0 || w.shape[0] % groups != 0) {
    return refuse(fmt::format("{} groups do not divide {} channels into {}", groups, x.shape[1], w.shape[0]));
  }
  if (w.shape[1] != x.shape[1] / groups) {
    return refuse(fmt::format("the weight {} wants {} channels per group, the image has {}", to_text(w.shape),
                              w.shape[1], x.shape[1] / groups));
  }
  Shape shape{x.shape[0], w.shape[0]};
  for (size_t d = 0; d < spatial; ++d) {
    PANTOUM_ASSIGN(const int64_t extent, conv_extent(x, w, ints, spatial, d));
    shape.push_back(extent);
  }
  return shape;
}
static_assert(PT_CONV_PAD_TOP == 2 && PT_CONV_PAD_BOTTOM == 4 && PT_CONV_DILATION_H == 6 && PT_CONV_GROUPS == 8);
static_assert(PT_CONV3D_PAD_FRONT == 3 && PT_CONV3D_PAD_BACK == 6 && PT_CONV3D_DILATION_D == 9 &&
              PT_CONV3D_GROUPS == 12);

template <size_t kSpatial>
Types conv_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_ASSIGN(const Shape shape, conv_shape(types.inputs[0], types.inputs[1], types.attrs.ints, kSpatial));
  if (types.inputs.size() == 3) PANTOUM_TRY(want_shape(types.inputs[2], {shape[1]}, "the bias"));
  return std::vector<TensorType>{{dtype, shape}};
}

template <size_t kSpatial>
Types conv_dx_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_ASSIGN(const Shape shape, conv_shape(types.outputs[0], types.inputs[1], types.attrs.ints, kSpatial));
  PANTOUM_TRY(want_shape(types.inputs[0], shape, "the output's gradient"));
  return std::vector<TensorType>{{dtype, types.outputs[0].shape}};
}

template <size_t kSpatial>
Types conv_dw_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_ASSIGN(const Shape shape, conv_shape(types.inputs[0], types.outputs[0], types.attrs.ints, kSpatial));
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
  PANTOUM_TRY(conv_dx_rule<2>(types));
  if (!takes_dx(types.attrs.ints[PT_CONV_DZ_GRADIENT])) return refuse("it knows no such activation");
  PANTOUM_TRY(want_shape(types.inputs[2], types.outputs[0].shape, "what the activation's gradient reads"));
  return std::vector<TensorType>{types.outputs[0]};
}

Pairs over_third(const OpTypes&) {
  return {{0, 2}};
}

// 2 for every weight at every output position: all ops do the same multiply-adds.
OpCost conv_flops(const OpTypes& types, const TensorType& w, const TensorType& y) {
  const int64_t per_output = w.elements() / w.shape[0];
  return operand_bytes(types, 2.0 * static_cast<double>(y.elements()) * static_cast<double>(per_output));
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

// The three ops of a number of spatial dimensions.
struct ConvKinds {
  Kind forward, dx, dw;
};
constexpr ConvKinds kPlane{Kind::k_conv2d, Kind::k_conv2d_dx, Kind::k_conv2d_dw};
constexpr ConvKinds kVolume{Kind::k_conv3d, Kind::k_conv3d_dx, Kind::k_conv3d_dw};

template <const ConvKinds& kKinds>
void conv_gradient(Backward& back) {
  Builder& builder = back.builder;
  const ValueId x = back.op.inputs[0], w = back.op.inputs[1], dy = back.d_outputs[0];
  const TensorType x_type = builder.type(x), w_type = builder.type(w);
  if (back.wanted[1]) {
    back.d_inputs[1] = builder.op(kKinds.dw, back.op.name + ".dw", {x, dy}, back.op.attrs, {w_type});
  }
  if (back.op.inputs.size() == 3 && back.wanted[2]) {
    const int64_t all_but_channels = (int64_t{1} << x_type.shape.size()) - 1 - 0b10;
    back.d_inputs[2] = builder.op(Kind::k_reduce_sum, back.op.name + ".db", {dy}, {{all_but_channels}, {}});
  }
  if (back.wanted[0]) {
    back.d_inputs[0] = builder.op(kKinds.dx, back.op.name + ".dx", {dy, w}, back.op.attrs, {x_type});
  }
}

// conv2d_dx is a transposed convolution: the roles of image and output are exchanged.
template <const ConvKinds& kKinds>
void conv_dx_gradient(Backward& back) {
  Builder& builder = back.builder;
  const ValueId x = back.op.inputs[0], w = back.op.inputs[1], dy = back.d_outputs[0];
  const TensorType w_type = builder.type(w);
  if (back.wanted[1]) {
    back.d_inputs[1] = builder.op(kKinds.dw, back.op.name + ".dw", {dy, x}, back.op.attrs, {w_type});
  }
  if (back.wanted[0]) back.d_inputs[0] = builder.op(kKinds.forward, back.op.name + ".dx", {dy, w}, back.op.attrs);
}

// The rows of the three products.
template <const ConvKinds& kKinds, size_t kSpatial>
std::vector<OpDef> three_products() {
  constexpr int kAttrs = static_cast<int>(4 * kSpatial + 1);
  return {{.kind = kKinds.forward,
           .signature = {.min_inputs = 2, .max_inputs = 3, .ints = kAttrs},
           .infer = conv_rule<kSpatial>,
           .gradient = conv_gradient<kKinds>,
           .cost = conv_cost,
           .traits = rows_by(RowWise::kFirstInput)},
          {.kind = kKinds.dx,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = kAttrs},
           .infer = conv_dx_rule<kSpatial>,
           .gradient = conv_dx_gradient<kKinds>,
           .cost = conv_dx_cost,
           .traits = rows_by(RowWise::kFirstInput)},
          {.kind = kKinds.dw,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = kAttrs},
           .infer = conv_dw_rule<kSpatial>,
           .gradient = kNoGradient,
           .cost = conv_dw_cost,
           .traits = kNoTraits}};
}

}  // namespace

std::vector<OpDef> conv_ops() {
  std::vector<OpDef> ops = three_products<kPlane, 2>();
  ops.push_back({.kind = Kind::k_conv2d_dz,
                 .signature = {.min_inputs = 3, .max_inputs = 3, .ints = PT_CONV_DZ_ATTRS, .reals = 3},
                 .infer = conv_dz_rule,
                 .gradient = kNoGradient,
                 .cost = conv_dz_cost,
                 .in_place = over_third,
                 .traits = kNoTraits});
  std::ranges::move(three_products<kVolume, 3>(), std::back_inserter(ops));
  return ops;
}

}  // namespace pantoum::ir
