// Max and average pooling. Every window must hold at least one element of the image.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// A tap before the image steps over it only if the dilation is larger than the image.
Result<int64_t> pooled_extent(const Window& window) {
  PANTOUM_ASSIGN(const int64_t positions, positions_of(window));
  const bool first_touches = window.before <= (window.kernel - 1) * window.dilation;
  const bool last_touches = (positions - 1) * window.stride - window.before < window.in;
  const bool steps_over = window.before > 0 && window.dilation > window.in;
  if (!first_touches || !last_touches || steps_over) return refuse("a window lies in the padding alone");
  return positions;
}

}  // namespace

Result<Shape> pool_shape(const TensorType& x, const std::vector<int64_t>& ints) {
  PANTOUM_TRY(want_rank(x, 4, "the image"));
  PANTOUM_ASSIGN(const int64_t height,
                 pooled_extent({x.shape[2], ints[PT_POOL_KERNEL_H], ints[PT_POOL_STRIDE_H], ints[PT_POOL_PAD_TOP],
                                ints[PT_POOL_PAD_BOTTOM], ints[PT_POOL_DILATION_H]}));
  PANTOUM_ASSIGN(const int64_t width,
                 pooled_extent({x.shape[3], ints[PT_POOL_KERNEL_W], ints[PT_POOL_STRIDE_W], ints[PT_POOL_PAD_LEFT],
                                ints[PT_POOL_PAD_RIGHT], ints[PT_POOL_DILATION_W]}));
  return Shape{x.shape[0], x.shape[1], height, width};
}

namespace {

Types pool_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_ASSIGN(Shape shape, pool_shape(types.inputs[0], types.attrs.ints));
  return std::vector<TensorType>{{dtype, std::move(shape)}};
}

Types max_pool_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(float_dtype(types.inputs));
  PANTOUM_ASSIGN(const Shape shape, pool_shape(types.inputs[1], types.attrs.ints));
  PANTOUM_TRY(want_shape(types.inputs[0], shape, "the output's gradient"));
  return std::vector<TensorType>{types.inputs[1]};
}

Types avg_pool_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_ASSIGN(const Shape shape, pool_shape(types.outputs[0], types.attrs.ints));
  PANTOUM_TRY(want_shape(types.inputs[0], shape, "the output's gradient"));
  return std::vector<TensorType>{{dtype, types.outputs[0].shape}};
}

double taps(const OpTypes& types) {
  return static_cast<double>(types.attrs.ints[PT_POOL_KERNEL_H]) *
         static_cast<double>(types.attrs.ints[PT_POOL_KERNEL_W]);
}

OpCost pool_cost(const OpTypes& types) {
  return operand_bytes(types, taps(types) * static_cast<double>(types.outputs[0].elements()));
}
OpCost pool_grad_cost(const OpTypes& types) {
  return operand_bytes(types, taps(types) * static_cast<double>(types.inputs[0].elements()));
}

void max_pool_gradient(Backward& back) {
  back.d_inputs[0] = back.builder.op(Kind::k_max_pool_grad, back.op.name + ".dx",
                                     {back.d_outputs[0], back.op.inputs[0]}, back.op.attrs);
}

void avg_pool_gradient(Backward& back) {
  const TensorType type = back.builder.type(back.op.inputs[0]);
  back.d_inputs[0] =
      back.builder.op(Kind::k_avg_pool_grad, back.op.name + ".dx", {back.d_outputs[0]}, back.op.attrs, {type});
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> pool_ops() {
  const Signature one{.ints = PT_POOL_ATTRS}, two{.min_inputs = 2, .max_inputs = 2, .ints = PT_POOL_ATTRS};
  return {{.kind = Kind::k_max_pool,
           .signature = one,
           .infer = pool_rule,
           .gradient = max_pool_gradient,
           .cost = pool_cost,
           .traits = rows_by(RowWise::kFirstInput)},
          {.kind = Kind::k_max_pool_grad,
           .signature = two,
           .infer = max_pool_grad_rule,
           .gradient = kNoGradient,
           .cost = pool_grad_cost,
           .traits = kNoTraits,
           .compact = CompactForm{Kind::k_max_pool_taps, Kind::k_max_pool_grad_taps}},
          {.kind = Kind::k_avg_pool,
           .signature = one,
           .infer = pool_rule,
           .gradient = avg_pool_gradient,
           .cost = pool_cost,
           .traits = rows_by(RowWise::kFirstInput)},
          {.kind = Kind::k_avg_pool_grad,
           .signature = one,
           .infer = avg_pool_grad_rule,
           .gradient = kNoGradient,
           .cost = pool_grad_cost,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
