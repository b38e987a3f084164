// Along one axis: where the maximum is, where the k most are, and running sums.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Types arg_max_rule(const OpTypes& types) {
  if (!is_integer(types.inputs[0].dtype)) PANTOUM_TRY(float_dtype(types.inputs));
  Shape shape = types.inputs[0].shape;
  PANTOUM_TRY(want_axis(types.attrs.ints[0], shape.size()));
  shape.erase(shape.begin() + types.attrs.ints[0]);
  return std::vector<TensorType>{{DType::kI64, std::move(shape)}};
}

Types top_k_rule(const OpTypes& types) {
  if (!is_integer(types.inputs[0].dtype)) PANTOUM_TRY(float_dtype(types.inputs));
  Shape shape = types.inputs[0].shape;
  const int64_t axis = types.attrs.ints[0], most = types.attrs.ints[1], largest = types.attrs.ints[2];
  PANTOUM_TRY(want_axis(axis, shape.size()));
  int64_t& extent = shape[static_cast<size_t>(axis)];
  if (most < 1 || most > extent)
    return refuse(fmt::format("there are no {} elements along an axis of {}", most, extent));
  if (largest < 0 || largest > 1) return refuse("a flag must be 0 or 1");
  extent = most;
  return std::vector<TensorType>{{DType::kI64, std::move(shape)}};
}

Types cumsum_rule(const OpTypes& types) {
  PANTOUM_TRY(want_axis(types.attrs.ints[0], types.inputs[0].shape.size()));
  for (const size_t flag : {1u, 2u}) {
    if (types.attrs.ints[flag] < 0 || types.attrs.ints[flag] > 1) return refuse("a flag must be 0 or 1");
  }
  if (!is_integer(types.inputs[0].dtype)) PANTOUM_TRY(float_dtype(types.inputs));
  return std::vector<TensorType>{types.inputs[0]};
}

// What an element is added to, seen from the other end.
void cumsum_gradient(Backward& back) {
  ir::Attrs attrs = back.op.attrs;
  attrs.ints[2] = 1 - attrs.ints[2];
  back.d_inputs[0] = back.builder.op(Kind::k_cumsum, back.op.name + ".dx", {back.d_outputs[0]}, attrs);
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> scan_ops() {
  return {{.kind = Kind::k_arg_max,
           .signature = {.ints = 1},
           .infer = arg_max_rule,
           .gradient = kNoGradient,
           .cost = flops_per_input<1>,
           .traits = rows_by(RowWise::kBehindAxis)},
          {.kind = Kind::k_top_k,
           .signature = {.ints = 3},
           .infer = top_k_rule,
           .gradient = kNoGradient,
           .cost = flops_per_input<8>,
           .traits = rows_by(RowWise::kBehindAxis)},
          {.kind = Kind::k_cumsum,
           .signature = {.ints = 3},
           .infer = cumsum_rule,
           .gradient = cumsum_gradient,
           .cost = flops_per_output<1>,
           .in_place = over_first,
           .traits = rows_by(RowWise::kBehindAxis)}};
}

}  // namespace pantoum::ir
