// Optimizer steps, which run once a step and are written over their operands; and ops on gradients before the update:
// sums over micro-batches, clipping.
#include <algorithm>

#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

// Written over its inputs it touches only the rows; elsewhere it copies the other rows too.
template <int kFlops>
OpCost rows_cost(const OpTypes& types) {
  OpCost cost = operand_bytes(types, kFlops * static_cast<double>(types.inputs[2].elements()));
  const Bytes untouched = std::max<Bytes>(types.inputs[0].bytes() - types.inputs[2].bytes(), 0) *
                          static_cast<int64_t>(types.outputs.size());
  cost.bytes_read -= untouched;
  cost.bytes_written -= untouched;
  return cost;
}

// The updated operands stand before and behind the gradient: w' is written over w, every state over its old value.
Pairs over_all_but_gradient(const OpTypes& types) {
  Pairs pairs{{0, 0}};
  for (int state = 2; state < static_cast<int>(types.inputs.size()); ++state) pairs.emplace_back(state - 1, state);
  return pairs;
}

// w I dY states..
Pairs over_all_but_rows(const OpTypes& types) {
  Pairs pairs{{0, 0}};
  for (int state = 3; state < static_cast<int>(types.inputs.size()); ++state) pairs.emplace_back(state - 2, state);
  return pairs;
}

// Written over the whole it touches only the slice.
OpCost assigned_cost(const OpTypes& types) {
  OpCost cost;
  cost.bytes_read = cost.bytes_written = types.inputs[1].bytes();
  return cost;
}

// The mean is written over the gradient, the new sum over the old one.
Pairs crosswise(const OpTypes&) {
  return {{0, 1}, {1, 0}};
}

OpCost norm_cost(const OpTypes& types) {
  double elements = 0;
  for (const TensorType& input : types.inputs) elements += static_cast<double>(input.elements());
  return operand_bytes(types, 2 * elements);
}

// An optimizer's step with this many flops for each element.
template <int kFlops>
OpDef update(Kind kind) {
  OpDef def = once(backward_op(kind, flops_per_output<kFlops>, over_all_but_gradient));
  def.traits = kUpdateTraits;
  return def;
}

}  // namespace

std::vector<OpDef> update_ops() {
  return {
      update<6>(k_sgd),
      update<18>(k_adam),
      update<18>(k_adamw),
      update<16>(k_rmsprop),
      update<10>(k_adagrad),
      once(backward_op(k_sgd_rows, rows_cost<3>, over_all_but_rows)),
      once(backward_op(k_adagrad_rows, rows_cost<11>, over_all_but_rows)),
      once(backward_op(k_adam_rows, rows_cost<19>, over_all_but_rows)),
      backward_op(k_norm, norm_cost),
      backward_op(k_clip_norm, flops_per_output<1>, over_first),
      once(backward_op(k_accumulate, flops_per_output<1>, over_first)),
      once(backward_op(k_assign, flops_per_output<0>, over_first)),
      once(backward_op(k_assign_slice, assigned_cost, over_first)),
      once(backward_op(k_accumulated, flops_per_output<2>, crosswise)),
  };
}

}  // namespace pantoum::ir
