// LSTM and GRU: one time step beside its two products, and many time steps as one op.
#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

void lstm_cell_gradient(Backward& back) {
  const std::vector<ValueId>& out = back.op.outputs;
  std::vector<ValueId> inputs = {gradient_or_zeros(back, 0, ".dh"), out[2], back.op.inputs[2], out[1]};
  if (back.d_outputs[1] != kNone) inputs.push_back(back.d_outputs[1]);
  const std::vector<ValueId> made = make_all(back, k_lstm_cell_grad, ".grad", inputs, back.op.attrs);
  if (made.size() == 2) back.d_inputs = {made[0], made[0], made[1]};
}

void gru_cell_gradient(Backward& back) {
  const std::vector<ValueId>& out = back.op.outputs;
  const std::vector<ValueId> made =
      make_all(back, k_gru_cell_grad, ".grad", {back.d_outputs[0], out[1], out[2], back.op.inputs[2]}, back.op.attrs);
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

// The state before each step, [T N, H], as rows of the series' times.
ValueId states_before(Backward& back, ValueId series, ValueId first) {
  Builder& builder = back.builder;
  const Shape shape = builder.type(series).shape;
  const int64_t steps = shape[0], batch = shape[1], width = shape[2];
  if (steps == 1) return first;
  const bool reverse = back.op.attrs.ints.back() != 0;
  const std::vector<int64_t> extents =
      reverse ? std::vector<int64_t>{1, steps - 1} : std::vector<int64_t>{steps - 1, 1};
  const ValueId others = builder.split(back.op.name + ".states", series, 0, extents)[reverse ? 1 : 0];
  std::vector<ValueId> parts = {builder.reshape(first, {1, batch, width}), others};
  if (reverse) std::swap(parts[0], parts[1]);
  return builder.reshape(builder.concat(back.op.name + ".before", parts, 0), {steps * batch, width});
}

// dP [T, N, gates H] -> dR = dP' (the states before)
ValueId weight_gradient(Backward& back, ValueId dp, ValueId series, ValueId first) {
  const Shape shape = back.builder.type(dp).shape;
  const ValueId rows = back.builder.reshape(dp, {shape[0] * shape[1], shape[2]});
  return make(back, k_matmul, ".dr", {rows, states_before(back, series, first)}, {{1, 0}, {}});
}

void lstm_sequence_gradient(Backward& back) {
  const std::vector<ValueId>&in = back.op.inputs, &out = back.op.outputs;
  std::vector<ValueId> inputs = {
      out[2], out[1], in[3], in[1], gradient_or_zeros(back, 3, ".dh"), gradient_or_zeros(back, 4, ".dc")};
  if (back.d_outputs[0] != kNone) inputs.push_back(back.d_outputs[0]);
  const std::vector<ValueId> made = make_all(back, k_lstm_sequence_grad, ".grad", inputs, back.op.attrs);
  if (made.size() != 3) return;
  back.d_inputs = {made[0], kNone, made[1], made[2]};
  if (back.wanted[1] != 0) back.d_inputs[1] = weight_gradient(back, made[0], out[0], in[2]);
}

void gru_sequence_gradient(Backward& back) {
  const std::vector<ValueId>&in = back.op.inputs, &out = back.op.outputs;
  std::vector<ValueId> inputs = {out[1], out[2], out[0], in[2], in[1], gradient_or_zeros(back, 3, ".dh")};
  if (back.d_outputs[0] != kNone) inputs.push_back(back.d_outputs[0]);
  const std::vector<ValueId> made = make_all(back, k_gru_sequence_grad, ".grad", inputs, back.op.attrs);
  if (made.size() != 3) return;
  back.d_inputs[0] = made[0], back.d_inputs[2] = made[2];
  if (back.wanted[1] != 0) back.d_inputs[1] = weight_gradient(back, made[1], out[0], in[2]);
  if (in.size() > 3 && back.wanted[3] != 0)
    back.d_inputs[3] = back.builder.sum_to(made[1], back.builder.type(in[3]).shape);
}

// A product with the weight `r` for every row of every step, and the cells.
template <int kWeight, int kFlopsOfState>
OpCost sequence_cost(const OpTypes& types) {
  const Shape& gates = types.inputs[0].shape;
  const auto rows = static_cast<double>(gates[0] * gates[1]);
  const auto weight = static_cast<double>(types.inputs[kWeight].elements());
  const auto width = static_cast<double>(types.inputs[kWeight].shape[1]);
  return operand_bytes(types, rows * (2 * weight + kFlopsOfState * width));
}

Pairs lstm_sequence_in_place(const OpTypes&) {
  return {{2, 0}, {3, 2}, {4, 3}};
}
Pairs lstm_sequence_grad_in_place(const OpTypes&) {
  return {{0, 0}, {1, 4}, {2, 5}};
}
Pairs gru_sequence_in_place(const OpTypes&) {
  return {{1, 0}, {3, 2}};
}
Pairs gru_sequence_grad_in_place(const OpTypes&) {
  return {{0, 0}, {2, 5}};
}

}  // namespace

std::vector<OpDef> recurrent_ops() {
  return {
      forward_op(k_lstm_cell, lstm_cell_gradient, flops_per_output<110>, kNoTraits, lstm_cell_in_place),
      backward_op(k_lstm_cell_grad, flops_per_output<12>, lstm_cell_grad_in_place),
      forward_op(k_gru_cell, gru_cell_gradient, flops_per_output<70>, kNoTraits, gru_cell_in_place),
      backward_op(k_gru_cell_grad, flops_per_output<7>, gru_cell_grad_in_place),
      forward_op(k_lstm_sequence, lstm_sequence_gradient, sequence_cost<1, 110>, kNoTraits, lstm_sequence_in_place),
      forward_op(k_lstm_sequence_grad, kNoGradient, sequence_cost<3, 48>, kNoTraits, lstm_sequence_grad_in_place),
      forward_op(k_gru_sequence, gru_sequence_gradient, sequence_cost<1, 70>, kNoTraits, gru_sequence_in_place),
      forward_op(k_gru_sequence_grad, kNoGradient, sequence_cost<4, 21>, kNoTraits, gru_sequence_grad_in_place),
  };
}

}  // namespace pantoum::ir
