// Optimizer steps: once a step, in place over what they update.
// why: one row per operator, and nothing that two tables could share.
#include <algorithm>
#include <array>

#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// w g v? -> w' v'?
Types sgd_rule(const OpTypes& types) {
  PANTOUM_TRY(same_as_first(types));
  return std::vector<TensorType>(types.inputs.size() - 1, types.inputs[0]);
}

// w g s avg? v? -> w' s' avg'? v'?
Types rmsprop_rule(const OpTypes& types) {
  PANTOUM_TRY(same_as_first(types));
  const int64_t centered = types.attrs.ints[0], inputs = static_cast<int64_t>(types.inputs.size());
  if (centered != 0 && centered != 1) return refuse("centered must be 0 or 1");
  if (inputs - centered != 3 && inputs - centered != 4)
    return refuse("a running average is there where it is centered");
  return std::vector<TensorType>(types.inputs.size() - 1, types.inputs[0]);
}

// w g s -> w' s'
Types adagrad_rule(const OpTypes& types) {
  PANTOUM_TRY(same_as_first(types));
  return std::vector<TensorType>(2, types.inputs[0]);
}

// w g m v -> w' m' v'
Types adam_rule(const OpTypes& types) {
  PANTOUM_TRY(same_as_first(types));
  return std::vector<TensorType>(3, types.inputs[0]);
}

// w I dY -> w'
Types sgd_rows_rule(const OpTypes& types) {
  const TensorType &w = types.inputs[0], &indices = types.inputs[1], &dy = types.inputs[2];
  const std::array<TensorType, 2> reals = {w, dy};
  PANTOUM_TRY(float_dtype(reals));
  if (indices.dtype != DType::kI64 && indices.dtype != DType::kI32) return refuse("the indices must be i64 or i32");
  if (w.shape.empty()) return refuse("what it updates has no rows");
  Shape rows = indices.shape;
  rows.insert(rows.end(), w.shape.begin() + 1, w.shape.end());
  PANTOUM_TRY(want_shape(dy, rows, "the gradient of the rows"));
  return std::vector<TensorType>{w};
}

// Over its input it touches the rows alone; elsewhere it copies the others.
OpCost sgd_rows_cost(const OpTypes& types) {
  OpCost cost = operand_bytes(types, 3 * static_cast<double>(types.inputs[2].elements()));
  const Bytes untouched = std::max<Bytes>(types.inputs[0].bytes() - types.inputs[2].bytes(), 0);
  cost.bytes_read -= untouched;
  cost.bytes_written -= untouched;
  return cost;
}

// What is updated stands before and behind the gradient: w' over w, every state over its own.
Pairs over_all_but_gradient(const OpTypes& types) {
  Pairs pairs{{0, 0}};
  for (int state = 2; state < static_cast<int>(types.inputs.size()); ++state) pairs.emplace_back(state - 1, state);
  return pairs;
}

OpDef adam_def(Kind kind) {
  return {.kind = kind,
          .signature = {.min_inputs = 4, .max_inputs = 4, .min_outputs = 3, .max_outputs = 3, .reals = 4},
          .infer = adam_rule,
          .gradient = kNoGradient,
          .cost = flops_per_output<18>,
          .in_place = over_all_but_gradient,
          .recompute = false,
          .traits = kUpdateTraits};
}

}  // namespace

std::vector<OpDef> update_ops() {
  return {{.kind = Kind::k_sgd,
           .signature = {.min_inputs = 2, .max_inputs = 3, .max_outputs = 2, .ints = 1, .reals = 2},
           .infer = sgd_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<6>,
           .in_place = over_all_but_gradient,
           .recompute = false,
           .traits = kUpdateTraits},
          adam_def(Kind::k_adam),
          adam_def(Kind::k_adamw),
          {.kind = Kind::k_rmsprop,
           .signature = {.min_inputs = 3, .max_inputs = 5, .min_outputs = 2, .max_outputs = 4, .ints = 1, .reals = 4},
           .infer = rmsprop_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<16>,
           .in_place = over_all_but_gradient,
           .recompute = false,
           .traits = kUpdateTraits},
          {.kind = Kind::k_adagrad,
           .signature = {.min_inputs = 3, .max_inputs = 3, .min_outputs = 2, .max_outputs = 2, .reals = 3},
           .infer = adagrad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<10>,
           .in_place = over_all_but_gradient,
           .recompute = false,
           .traits = kUpdateTraits},
          {.kind = Kind::k_sgd_rows,
           .signature = {.min_inputs = 3, .max_inputs = 3},
           .infer = sgd_rows_rule,
           .gradient = kNoGradient,
           .cost = sgd_rows_cost,
           .in_place = over_first,
           .recompute = false,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
