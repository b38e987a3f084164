// Comparing and choosing, element by element with broadcasting: compare, where, maximum, minimum.
// why: one row per operator, and nothing that two tables could share.
#include <fmt/format.h>

#include "ir/gradient_rules.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Result<Shape> broadcast_all(std::span<const TensorType> inputs) {
  Shape shape = inputs[0].shape;
  for (const TensorType& input : inputs) {
    PANTOUM_ASSIGN(shape, broadcast(shape, input.shape));
  }
  return shape;
}

Types compare_rule(const OpTypes& types) {
  if (types.inputs[0].dtype != types.inputs[1].dtype) return refuse("its inputs differ in type");
  const int64_t relation = types.attrs.ints[0];
  if (relation < 0 || relation >= PT_COMPARE_COUNT) return refuse(fmt::format("the relation {} is unknown", relation));
  PANTOUM_ASSIGN(Shape shape, broadcast_all(types.inputs));
  return std::vector<TensorType>{{DType::kBool, std::move(shape)}};
}

Types where_rule(const OpTypes& types) {
  if (types.inputs[0].dtype != DType::kBool) return refuse("the condition must be bool");
  if (types.inputs[1].dtype != types.inputs[2].dtype) return refuse("what it chooses from differs in type");
  PANTOUM_ASSIGN(Shape shape, broadcast_all(types.inputs));
  return std::vector<TensorType>{{types.inputs[1].dtype, std::move(shape)}};
}

bool is_ordered(DType) {
  return true;
}

Types extreme_rule(const OpTypes& types) {
  return one_type_rule(types, is_ordered);
}

// The part of dY that the condition lets through to A, and the rest to B.
void where_gradient(Backward& back) {
  const ValueId condition = back.op.inputs[0], dy = back.d_outputs[0];
  const ValueId zero = back.builder.constant_f32(back.op.name + ".zero", {}, {0.0F});
  if (back.wanted[1]) {
    sum_to_input(back, 1, back.builder.op(Kind::k_where, back.op.name + ".da", {condition, dy, zero}));
  }
  if (back.wanted[2]) {
    sum_to_input(back, 2, back.builder.op(Kind::k_where, back.op.name + ".db", {condition, zero, dy}));
  }
}

// The gradient of each input of maximum is maximum_grad with that input first; of minimum, with the other one first.
void extreme_gradient(Backward& back, bool maximum) {
  const char* const suffix[] = {".da", ".db"};
  for (size_t input : {0u, 1u}) {
    if (!back.wanted[input]) continue;
    const size_t first = maximum ? input : 1 - input;
    const std::vector<ValueId> operands = {back.d_outputs[0], back.op.inputs[first], back.op.inputs[1 - first]};
    sum_to_input(back, input, back.builder.op(Kind::k_maximum_grad, back.op.name + suffix[input], operands));
  }
}
void maximum_gradient(Backward& back) {
  extreme_gradient(back, true);
}
void minimum_gradient(Backward& back) {
  extreme_gradient(back, false);
}

}  // namespace

std::vector<OpDef> select_ops() {
  const Signature two{.min_inputs = 2, .max_inputs = 2}, three{.min_inputs = 3, .max_inputs = 3};
  return {{.kind = Kind::k_compare,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = 1},
           .infer = compare_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<1>,
           .traits = rows_by(RowWise::kBroadcast)},
          {.kind = Kind::k_where,
           .signature = three,
           .infer = where_rule,
           .gradient = where_gradient,
           .cost = flops_per_output<1>,
           .in_place = over_equal_inputs,
           .traits = rows_by(RowWise::kBroadcast)},
          {.kind = Kind::k_maximum,
           .signature = two,
           .infer = extreme_rule,
           .gradient = maximum_gradient,
           .cost = flops_per_output<1>,
           .in_place = over_equal_inputs,
           .traits = rows_by(RowWise::kBroadcast)},
          {.kind = Kind::k_minimum,
           .signature = two,
           .infer = extreme_rule,
           .gradient = minimum_gradient,
           .cost = flops_per_output<1>,
           .in_place = over_equal_inputs,
           .traits = rows_by(RowWise::kBroadcast)},
          {.kind = Kind::k_maximum_grad,
           .signature = three,
           .infer = elementwise_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<2>,
           .in_place = over_equal_inputs,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
