// slice, gather and gather_elements: some elements are picked, by a rule or by indices; any dtype.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// Is `part` what [start, step] of every dimension picks out of `whole`?
Result<void> check_slice(const TensorType& part, const TensorType& whole, const std::vector<int64_t>& ints) {
  const size_t rank = whole.shape.size();
  if (part.shape.size() != rank || ints.size() != 2 * rank) return refuse("it needs start and step of every dimension");
  for (size_t d = 0; d < rank; ++d) {
    const int64_t start = ints[2 * d], step = ints[2 * d + 1], extent = whole.shape[d];
    const bool sane = start >= 0 && start < extent && step != 0 && step >= -INT32_MAX && step <= INT32_MAX;
    const int64_t last = sane ? start + (part.shape[d] - 1) * step : -1;
    if (last < 0 || last >= extent) {
      return refuse(fmt::format("{} elements from {} by {} leave the extent {} of dimension {}", part.shape[d], start,
                                step, extent, d));
    }
  }
  return {};
}

Types slice_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_TRY(check_slice(types.outputs[0], types.inputs[0], types.attrs.ints));
  return std::vector<TensorType>{{types.inputs[0].dtype, types.outputs[0].shape}};
}

Types slice_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_TRY(check_slice(types.inputs[0], types.outputs[0], types.attrs.ints));
  return std::vector<TensorType>{{types.inputs[0].dtype, types.outputs[0].shape}};
}

Result<Shape> gathered_shape(const TensorType& x, const TensorType& indices, int64_t axis) {
  if (indices.dtype != DType::kI64 && indices.dtype != DType::kI32) return refuse("the indices must be i64 or i32");
  PANTOUM_TRY(want_axis(axis, x.shape.size()));
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  shape.insert(shape.end(), indices.shape.begin(), indices.shape.end());
  shape.insert(shape.end(), x.shape.begin() + axis + 1, x.shape.end());
  return shape;
}

Types gather_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(Shape shape, gathered_shape(types.inputs[0], types.inputs[1], types.attrs.ints[0]));
  return std::vector<TensorType>{{types.inputs[0].dtype, std::move(shape)}};
}

Types gather_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs, 0, 1));
  PANTOUM_ASSIGN(const Shape shape, gathered_shape(types.outputs[0], types.inputs[1], types.attrs.ints[0]));
  PANTOUM_TRY(want_shape(types.inputs[0], shape, "the output's gradient"));
  return std::vector<TensorType>{{dtype, types.outputs[0].shape}};
}

// Indices of the rank of `x`, and within its extents but along the axis.
Result<void> check_elements(const TensorType& x, const TensorType& indices, int64_t axis) {
  if (indices.dtype != DType::kI64 && indices.dtype != DType::kI32) return refuse("the indices must be i64 or i32");
  PANTOUM_TRY(want_axis(axis, x.shape.size()));
  PANTOUM_TRY(want_rank(indices, x.shape.size(), "the tensor of indices"));
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (static_cast<int64_t>(d) != axis && indices.shape[d] > x.shape[d]) {
      return refuse(fmt::format("the indices {} leave the input in dimension {}", to_text(indices.shape), d));
    }
  }
  return {};
}

Types gather_elements_rule(const OpTypes& types) {
  PANTOUM_TRY(check_elements(types.inputs[0], types.inputs[1], types.attrs.ints[0]));
  return std::vector<TensorType>{{types.inputs[0].dtype, types.inputs[1].shape}};
}

Types gather_elements_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs, 0, 1));
  PANTOUM_TRY(check_elements(types.outputs[0], types.inputs[1], types.attrs.ints[0]));
  PANTOUM_TRY(want_shape(types.inputs[0], types.inputs[1].shape, "the output's gradient"));
  return std::vector<TensorType>{{dtype, types.outputs[0].shape}};
}

// What is not picked is not read.
OpCost picked_cost(const OpTypes& types) {
  OpCost cost = operand_bytes(types, 0);
  cost.bytes_read += types.outputs[0].bytes() - types.inputs[0].bytes();
  return cost;
}

void slice_gradient(Backward& back) {
  const TensorType type = back.builder.type(back.op.inputs[0]);
  back.d_inputs[0] =
      back.builder.op(Kind::k_slice_grad, back.op.name + ".dx", {back.d_outputs[0]}, back.op.attrs, {type});
}

// slice_grad is a padding with zeros.
void slice_grad_gradient(Backward& back) {
  const TensorType type = back.builder.type(back.op.inputs[0]);
  back.d_inputs[0] = back.builder.op(Kind::k_slice, back.op.name + ".dx", {back.d_outputs[0]}, back.op.attrs, {type});
}

void gather_elements_gradient(Backward& back) {
  const TensorType type = back.builder.type(back.op.inputs[0]);
  back.d_inputs[0] = back.builder.op(Kind::k_gather_elements_grad, back.op.name + ".dx",
                                     {back.d_outputs[0], back.op.inputs[1]}, back.op.attrs, {type});
}

void gather_gradient(Backward& back) {
  const TensorType type = back.builder.type(back.op.inputs[0]);
  if (!back.wanted[0]) return;
  back.d_inputs[0] = back.builder.op(Kind::k_gather_grad, back.op.name + ".dx", {back.d_outputs[0], back.op.inputs[1]},
                                     back.op.attrs, {type});
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> index_ops() {
  return {{.kind = Kind::k_slice,
           .signature = {.ints = kAny},
           .infer = slice_rule,
           .gradient = slice_gradient,
           .cost = picked_cost,
           .traits = rows_by(RowWise::kSliced)},
          {.kind = Kind::k_slice_grad,
           .signature = {.ints = kAny},
           .infer = slice_grad_rule,
           .gradient = slice_grad_gradient,
           .cost = flops_per_output<0>,
           .traits = rows_by(RowWise::kSliced)},
          {.kind = Kind::k_gather,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = 1},
           .infer = gather_rule,
           .gradient = gather_gradient,
           .cost = picked_cost,
           .traits = rows_by(RowWise::kGathered)},
          {.kind = Kind::k_gather_grad,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = 1},
           .infer = gather_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_input<1>,
           .traits = kNoTraits},
          {.kind = Kind::k_gather_elements,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = 1},
           .infer = gather_elements_rule,
           .gradient = gather_elements_gradient,
           .cost = picked_cost,
           .traits = kNoTraits},
          {.kind = Kind::k_gather_elements_grad,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = 1},
           .infer = gather_elements_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_input<1>,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
