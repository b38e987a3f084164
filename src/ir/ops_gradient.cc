// What happens to gradients between the backward sweep and the updates: sums over micro-batches, clipping.
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// X.. -> the 2-norm of all of them together
Types norm_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  return std::vector<TensorType>{{dtype, {}}};
}

// G norm -> G'
Types clip_norm_rule(const OpTypes& types) {
  PANTOUM_TRY(float_dtype(types.inputs));
  PANTOUM_TRY(want_shape(types.inputs[1], {}, "the norm"));
  return std::vector<TensorType>{types.inputs[0]};
}

// sum G -> mean sum'
Types accumulated_rule(const OpTypes& types) {
  PANTOUM_TRY(same_as_first(types));
  return std::vector<TensorType>(2, types.inputs[0]);
}

// The mean over the gradient, the new sum over the old one.
Pairs crosswise(const OpTypes&) {
  return {{0, 1}, {1, 0}};
}

Types assign_rule(const OpTypes& types) {
  if (types.inputs[0] != types.inputs[1]) return refuse("what is assigned has another type");
  return std::vector<TensorType>{types.inputs[0]};
}

OpCost norm_cost(const OpTypes& types) {
  double elements = 0;
  for (const TensorType& input : types.inputs) elements += static_cast<double>(input.elements());
  return operand_bytes(types, 2 * elements);
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> gradient_ops() {
  const Signature two{.min_inputs = 2, .max_inputs = 2};
  return {{.kind = Kind::k_norm,
           .signature = {.max_inputs = kAny},
           .infer = norm_rule,
           .gradient = kNoGradient,
           .cost = norm_cost,
           .traits = kNoTraits},
          {.kind = Kind::k_clip_norm,
           .signature = {.min_inputs = 2, .max_inputs = 2, .reals = 1},
           .infer = clip_norm_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<1>,
           .in_place = over_first,
           .traits = kNoTraits},
          {.kind = Kind::k_accumulate,
           .signature = two,
           .infer = same_as_first,
           .gradient = kNoGradient,
           .cost = flops_per_output<1>,
           .in_place = over_first,
           .recompute = false,
           .traits = kNoTraits},
          {.kind = Kind::k_assign,
           .signature = two,
           .infer = assign_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<0>,
           .in_place = over_first,
           .recompute = false,
           .traits = kNoTraits},
          {.kind = Kind::k_accumulated,
           .signature = {.min_inputs = 2, .max_inputs = 2, .min_outputs = 2, .max_outputs = 2, .reals = 1},
           .infer = accumulated_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<2>,
           .in_place = crosswise,
           .recompute = false,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
