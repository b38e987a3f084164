// Optimizer steps: once a step, in place over what they update.
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// w g v? -> w' v'?
Types sgd_rule(const OpTypes& types) {
  PANTOUM_TRY(same_as_first(types));
  return std::vector<TensorType>(types.inputs.size() - 1, types.inputs[0]);
}

// w g m v -> w' m' v'
Types adam_rule(const OpTypes& types) {
  PANTOUM_TRY(same_as_first(types));
  return std::vector<TensorType>(3, types.inputs[0]);
}

Pairs sgd_in_place(const OpTypes& types) {
  if (types.inputs.size() == 2) return {{0, 0}};
  return {{0, 0}, {1, 2}};
}

Pairs adam_in_place(const OpTypes&) {
  return {{0, 0}, {1, 2}, {2, 3}};
}

}  // namespace

std::vector<OpDef> update_ops() {
  return {{.kind = Kind::k_sgd,
           .signature = {.min_inputs = 2, .max_inputs = 3, .max_outputs = 2, .ints = 1, .reals = 2},
           .infer = sgd_rule,
           .cost = flops_per_output<6>,
           .in_place = sgd_in_place,
           .recompute = false},
          {.kind = Kind::k_adam,
           .signature = {.min_inputs = 4, .max_inputs = 4, .min_outputs = 3, .max_outputs = 3, .reals = 4},
           .infer = adam_rule,
           .cost = flops_per_output<18>,
           .in_place = adam_in_place,
           .recompute = false}};
}

}  // namespace pantoum::ir
