// scatter_elements: elements of a tensor are replaced, or joined with updates, at indices.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// Indices of the updates' shape, or a vector along the axis; updates within the extents of `x` but along it.
Result<void> check_updates(const TensorType& x, const TensorType& indices, const TensorType& updates, int64_t axis) {
  if (indices.dtype != DType::kI64 && indices.dtype != DType::kI32) return refuse("the indices must be i64 or i32");
  PANTOUM_TRY(want_axis(axis, x.shape.size()));
  PANTOUM_TRY(want_rank(updates, x.shape.size(), "the tensor of updates"));
  const auto along = static_cast<size_t>(axis);
  const bool by_row = indices.shape != updates.shape;
  if (by_row && indices.shape != Shape{updates.shape[along]}) return refuse("the indices do not fit the updates");
  for (size_t d = 0; d < x.shape.size(); ++d) {
    if (d == along) continue;
    if (by_row ? updates.shape[d] == x.shape[d] : updates.shape[d] <= x.shape[d]) continue;
    return refuse(fmt::format("the updates {} do not fit the input in dimension {}", to_text(updates.shape), d));
  }
  return {};
}

Result<void> check_reduction(int64_t reduction, int64_t least) {
  if (reduction >= least && reduction < PT_SCATTER_COUNT) return {};
  return refuse(fmt::format("there is no reduction {}", reduction));
}

Types scatter_elements_rule(const OpTypes& types) {
  const TensorType &x = types.inputs[0], &updates = types.inputs[2];
  const int64_t reduction = types.attrs.ints[1];
  PANTOUM_TRY(check_updates(x, types.inputs[1], updates, types.attrs.ints[0]));
  PANTOUM_TRY(check_reduction(reduction, PT_SCATTER_LAST));
  if (updates.dtype != x.dtype) return refuse("the updates are of another type than the input");
  if (x.dtype == DType::kBool && (reduction == PT_SCATTER_ADD || reduction == PT_SCATTER_MUL)) {
    return refuse("bool is not computed on");
  }
  return std::vector<TensorType>{x};
}

Types scatter_elements_grad_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs, 0, 1));
  if (types.outputs.size() != 2) return refuse("it makes two gradients");
  const TensorType &dx = types.outputs[0], &du = types.outputs[1];
  PANTOUM_TRY(check_updates(dx, types.inputs[1], du, types.attrs.ints[0]));
  PANTOUM_TRY(want_shape(types.inputs[0], dx.shape, "the output's gradient"));
  return std::vector<TensorType>{{dtype, dx.shape}, {dtype, du.shape}};
}

Types scatter_reduce_grad_rule(const OpTypes& types) {
  const TensorType &dy = types.inputs[0], &x = types.inputs[2], &updates = types.inputs[3];
  PANTOUM_TRY(float_dtype(types.inputs, 2, 5));
  PANTOUM_TRY(check_updates(x, types.inputs[1], updates, types.attrs.ints[0]));
  PANTOUM_TRY(check_reduction(types.attrs.ints[1], PT_SCATTER_MUL));
  if (dy != x || types.inputs[4] != x) return refuse("the output or its gradient is not as the input");
  return std::vector<TensorType>{x, updates};
}

OpCost scattered_cost(const OpTypes& types) {
  return operand_bytes(types, static_cast<double>(types.inputs[0].elements()));
}

// A sum hands its gradient on.
void sum_gradient(Backward& back) {
  const Op& op = back.op;
  const ValueId dy = back.d_outputs[0], indices = op.inputs[1];
  if (back.wanted[0]) back.d_inputs[0] = dy;
  if (!back.wanted[2]) return;
  const bool by_row = back.builder.type(indices).shape != back.builder.type(op.inputs[2]).shape;
  back.d_inputs[2] = back.builder.op(by_row ? Kind::k_gather : Kind::k_gather_elements, op.name + ".du", {dy, indices},
                                     {{op.attrs.ints[0]}, {}});
}

void scatter_elements_gradient(Backward& back) {
  const Op& op = back.op;
  const ValueId dy = back.d_outputs[0], indices = op.inputs[1];
  const int64_t axis = op.attrs.ints[0], reduction = op.attrs.ints[1];
  if (reduction == PT_SCATTER_ADD) return sum_gradient(back);
  const std::vector<TensorType> made{back.builder.type(op.inputs[0]), back.builder.type(op.inputs[2])};
  const std::vector<ValueId> gradients =
      reduction == PT_SCATTER_LAST
          ? back.builder.add(Kind::k_scatter_elements_grad, op.name + ".dx", {dy, indices}, {{axis}, {}}, made)
          : back.builder.add(Kind::k_scatter_reduce_grad, op.name + ".dx",
                             {dy, indices, op.inputs[0], op.inputs[2], op.outputs[0]}, op.attrs);
  if (back.wanted[0]) back.d_inputs[0] = gradients[0];
  if (back.wanted[2]) back.d_inputs[2] = gradients[1];
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> scatter_ops() {
  return {{.kind = Kind::k_scatter_elements,
           .signature = {.min_inputs = 3, .max_inputs = 3, .ints = 2},
           .infer = scatter_elements_rule,
           .gradient = scatter_elements_gradient,
           .cost = scattered_cost,
           .in_place = over_first,
           .traits = kNoTraits},
          {.kind = Kind::k_scatter_elements_grad,
           .signature = {.min_inputs = 2, .max_inputs = 2, .min_outputs = 2, .max_outputs = 2, .ints = 1},
           .infer = scatter_elements_grad_rule,
           .gradient = kNoGradient,
           .cost = scattered_cost,
           .in_place = over_first,
           .traits = kNoTraits},
          {.kind = Kind::k_scatter_reduce_grad,
           .signature = {.min_inputs = 5, .max_inputs = 5, .min_outputs = 2, .max_outputs = 2, .ints = 2},
           .infer = scatter_reduce_grad_rule,
           .gradient = kNoGradient,
           .cost = scattered_cost,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
