// One time step of an LSTM or a GRU: what is left of it beside its two products.
#include <fmt/format.h>

#include <algorithm>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// The type of `gates` gates side by side of a cell whose state is `state`.
TensorType gates_of(const TensorType& state, int64_t gates) {
  return {state.dtype, {state.shape[0], gates * state.shape[1]}};
}

// Every gate has a block of columns of its own.
Result<void> want_blocks(const OpTypes& types) {
  const std::vector<int64_t>& blocks = types.attrs.ints;
  for (size_t block = 0; block < blocks.size(); ++block)
    if (std::count(blocks.begin(), blocks.end(), static_cast<int64_t>(block)) != 1)
      return refuse(fmt::format("no gate, or more than one, has the block {} of columns", block));
  return {};
}

Result<void> want_states(const OpTypes& types, size_t first, const TensorType& state) {
  for (size_t input = first; input < types.inputs.size(); ++input)
    PANTOUM_TRY(want_shape(types.inputs[input], state.shape, "a state"));
  return {};
}

// Inputs: two of `gates` gates each, and the state.
Result<TensorType> check_cell(const OpTypes& types, int64_t gates) {
  PANTOUM_TRY(float_dtype(types.inputs));
  PANTOUM_TRY(want_blocks(types));
  const TensorType& state = types.inputs[2];
  PANTOUM_TRY(want_rank(state, 2, "the state"));
  for (const size_t input : {0u, 1u})
    PANTOUM_TRY(want_shape(types.inputs[input], gates_of(state, gates).shape, "a product of the gates"));
  return state;
}

// Inputs: the state's gradient, `gates` gates, and states.
Result<TensorType> check_cell_grad(const OpTypes& types, int64_t gates) {
  PANTOUM_TRY(float_dtype(types.inputs));
  PANTOUM_TRY(want_blocks(types));
  const TensorType& state = types.inputs[0];
  PANTOUM_TRY(want_rank(state, 2, "the state's gradient"));
  PANTOUM_TRY(want_shape(types.inputs[1], gates_of(state, gates).shape, "the gates"));
  PANTOUM_TRY(want_states(types, 2, state));
  return state;
}

Types lstm_cell_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const TensorType state, check_cell(types, 4));
  return std::vector<TensorType>{state, state, gates_of(state, 4)};
}

Types lstm_cell_grad_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const TensorType state, check_cell_grad(types, 4));
  return std::vector<TensorType>{gates_of(state, 4), state};
}

Types gru_cell_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const TensorType state, check_cell(types, 3));
  return std::vector<TensorType>{state, gates_of(state, 3), state};
}

Types gru_cell_grad_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const TensorType state, check_cell_grad(types, 3));
  return std::vector<TensorType>{gates_of(state, 3), gates_of(state, 3), state};
}

// The gradient of the first output; zeros where the loss depends on the cell's state alone.
ValueId state_gradient(Backward& back) {
  if (back.d_outputs[0] != kNone) return back.d_outputs[0];
  const TensorType type = back.builder.type(back.op.outputs[0]);
  const ValueId zero = back.builder.constant_f32(back.op.name + ".zero", {}, {0.0F});
  return back.builder.op(Kind::k_expand, back.op.name + ".dh", {zero}, {{}, {1}}, {type});
}

void lstm_cell_gradient(Backward& back) {
  const std::vector<ValueId>& out = back.op.outputs;
  std::vector<ValueId> inputs = {state_gradient(back), out[2], back.op.inputs[2], out[1]};
  if (back.d_outputs[1] != kNone) inputs.push_back(back.d_outputs[1]);
  const std::vector<ValueId> made =
      back.builder.add(Kind::k_lstm_cell_grad, back.op.name + ".grad", inputs, back.op.attrs);
  if (made.size() == 2) back.d_inputs = {made[0], made[0], made[1]};
}

void gru_cell_gradient(Backward& back) {
  const std::vector<ValueId>& out = back.op.outputs;
  const std::vector<ValueId> made =
      back.builder.add(Kind::k_gru_cell_grad, back.op.name + ".grad",
                       {back.d_outputs[0], out[1], out[2], back.op.inputs[2]}, back.op.attrs);
  if (made.size() == 3) back.d_inputs = made;
}

Pairs lstm_cell_in_place(const OpTypes&) {
  return {{2, 0}, {2, 1}, {1, 2}, {0, 2}};
}
Pairs lstm_cell_grad_in_place(const OpTypes& types) {
  Pairs pairs = {{0, 1}, {1, 0}, {1, 2}, {1, 3}};
  if (types.inputs.size() == 5) pairs.emplace_back(1, 4);
  return pairs;
}
Pairs gru_cell_in_place(const OpTypes&) {
  return {{1, 0}, {1, 1}, {0, 2}};
}
Pairs gru_cell_grad_in_place(const OpTypes&) {
  return {{0, 1}, {1, 1}, {2, 0}, {2, 2}, {2, 3}};
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> recurrent_ops() {
  const auto cell = [](int gates) {
    return Signature{.min_inputs = 3, .max_inputs = 3, .min_outputs = 3, .max_outputs = 3, .ints = gates};
  };
  return {{.kind = Kind::k_lstm_cell,
           .signature = cell(4),
           .infer = lstm_cell_rule,
           .gradient = lstm_cell_gradient,
           .cost = flops_per_output<110>,
           .in_place = lstm_cell_in_place,
           .traits = kNoTraits},
          {.kind = Kind::k_lstm_cell_grad,
           .signature = {.min_inputs = 4, .max_inputs = 5, .min_outputs = 2, .max_outputs = 2, .ints = 4},
           .infer = lstm_cell_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<12>,
           .in_place = lstm_cell_grad_in_place,
           .traits = kNoTraits},
          {.kind = Kind::k_gru_cell,
           .signature = cell(3),
           .infer = gru_cell_rule,
           .gradient = gru_cell_gradient,
           .cost = flops_per_output<70>,
           .in_place = gru_cell_in_place,
           .traits = kNoTraits},
          {.kind = Kind::k_gru_cell_grad,
           .signature = {.min_inputs = 4, .max_inputs = 4, .min_outputs = 3, .max_outputs = 3, .ints = 3},
           .infer = gru_cell_grad_rule,
           .gradient = kNoGradient,
           .cost = flops_per_output<7>,
           .in_place = gru_cell_grad_in_place,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
