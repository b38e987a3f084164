// Many time steps of an LSTM or a GRU as one op: products with the state, and cells.
#include <fmt/format.h>

#include <algorithm>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

// T time steps of N sequences with H states and `gates` gates.
struct Extents {
  DType dtype;
  int64_t steps, batch, width, gates;

  [[nodiscard]] TensorType series(int64_t blocks) const { return {dtype, {steps, batch, blocks * width}}; }
  [[nodiscard]] TensorType state() const { return {dtype, {batch, width}}; }
};

// The last attribute says whether time runs backward; each of the others is a gate's block of columns.
Result<void> want_direction(const std::vector<int64_t>& ints) {
  const auto gates = static_cast<int64_t>(ints.size()) - 1;
  for (int64_t block = 0; block < gates; ++block)
    if (std::count(ints.begin(), ints.end() - 1, block) != 1)
      return refuse(fmt::format("no gate, or more than one, has the block {} of columns", block));
  if (ints.back() != 0 && ints.back() != 1) return refuse("the direction of time is neither 0 nor 1");
  return {};
}

// Input 0 holds the gates, input `r` the state's weight.
Result<Extents> sequence_extents(const OpTypes& types, size_t r, int64_t gates) {
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_TRY(want_direction(types.attrs.ints));
  PANTOUM_TRY(want_rank(types.inputs[0], 3, "the gates"));
  PANTOUM_TRY(want_rank(types.inputs[r], 2, "the state's weight"));
  const Shape& of_gates = types.inputs[0].shape;
  const int64_t width = types.inputs[r].shape[1];
  const Extents extents{dtype, of_gates[0], of_gates[1], width, gates};
  if (width > of_gates[2]) return refuse("the state's weight is wider than the gates");
  PANTOUM_TRY(want_shape(types.inputs[r], {of_gates[2], width}, "the state's weight"));
  PANTOUM_TRY(want_shape(types.inputs[0], extents.series(gates).shape, "the gates"));
  return extents;
}

Result<void> want_all(const OpTypes& types, size_t begin, size_t end, const TensorType& type, const char* what) {
  for (size_t input = begin; input < end; ++input) PANTOUM_TRY(want_shape(types.inputs[input], type.shape, what));
  return {};
}

Types lstm_sequence_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const Extents e, sequence_extents(types, 1, 4));
  PANTOUM_TRY(want_all(types, 2, 4, e.state(), "a state"));
  return std::vector<TensorType>{e.series(1), e.series(1), e.series(4), e.state(), e.state()};
}

Types lstm_sequence_grad_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const Extents e, sequence_extents(types, 3, 4));
  PANTOUM_TRY(want_all(types, 1, 2, e.series(1), "the inner states"));
  PANTOUM_TRY(want_all(types, 2, 3, e.state(), "a state"));
  PANTOUM_TRY(want_all(types, 4, 6, e.state(), "a state's gradient"));
  PANTOUM_TRY(want_all(types, 6, types.inputs.size(), e.series(1), "the states' gradient"));
  return std::vector<TensorType>{e.series(4), e.state(), e.state()};
}

Types gru_sequence_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const Extents e, sequence_extents(types, 1, 3));
  PANTOUM_TRY(want_all(types, 2, 3, e.state(), "a state"));
  PANTOUM_TRY(want_all(types, 3, types.inputs.size(), {e.dtype, {3 * e.width}}, "the bias"));
  return std::vector<TensorType>{e.series(1), e.series(3), e.series(1), e.state()};
}

Types gru_sequence_grad_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const Extents e, sequence_extents(types, 4, 3));
  PANTOUM_TRY(want_all(types, 1, 3, e.series(1), "a series of states"));
  PANTOUM_TRY(want_all(types, 3, 4, e.state(), "a state"));
  PANTOUM_TRY(want_all(types, 5, 6, e.state(), "a state's gradient"));
  PANTOUM_TRY(want_all(types, 6, types.inputs.size(), e.series(1), "the states' gradient"));
  return std::vector<TensorType>{e.series(3), e.series(3), e.state()};
}

// The gradient of an output; zeros where the loss does not depend on it.
ValueId gradient_or_zeros(Backward& back, size_t output, const char* suffix) {
  if (back.d_outputs[output] != kNone) return back.d_outputs[output];
  const TensorType type = back.builder.type(back.op.outputs[output]);
  const ValueId zero = back.builder.constant_f32(back.op.name + ".zero", {}, {0.0F});
  return back.builder.op(Kind::k_expand, back.op.name + suffix, {zero}, {{}, {1}}, {type});
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
  return back.builder.op(Kind::k_matmul, back.op.name + ".dr", {rows, states_before(back, series, first)},
                         {{1, 0}, {}});
}

void lstm_sequence_gradient(Backward& back) {
  const std::vector<ValueId>&in = back.op.inputs, &out = back.op.outputs;
  std::vector<ValueId> inputs = {
      out[2], out[1], in[3], in[1], gradient_or_zeros(back, 3, ".dh"), gradient_or_zeros(back, 4, ".dc")};
  if (back.d_outputs[0] != kNone) inputs.push_back(back.d_outputs[0]);
  const std::vector<ValueId> made =
      back.builder.add(Kind::k_lstm_sequence_grad, back.op.name + ".grad", inputs, back.op.attrs);
  if (made.size() != 3) return;
  back.d_inputs = {made[0], kNone, made[1], made[2]};
  if (back.wanted[1] != 0) back.d_inputs[1] = weight_gradient(back, made[0], out[0], in[2]);
}

void gru_sequence_gradient(Backward& back) {
  const std::vector<ValueId>&in = back.op.inputs, &out = back.op.outputs;
  std::vector<ValueId> inputs = {out[1], out[2], out[0], in[2], in[1], gradient_or_zeros(back, 3, ".dh")};
  if (back.d_outputs[0] != kNone) inputs.push_back(back.d_outputs[0]);
  const std::vector<ValueId> made =
      back.builder.add(Kind::k_gru_sequence_grad, back.op.name + ".grad", inputs, back.op.attrs);
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

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> sequence_ops() {
  return {{.kind = Kind::k_lstm_sequence,
           .signature = {.min_inputs = 4, .max_inputs = 4, .min_outputs = 5, .max_outputs = 5, .ints = 5},
           .infer = lstm_sequence_rule,
           .gradient = lstm_sequence_gradient,
           .cost = sequence_cost<1, 110>,
           .in_place = lstm_sequence_in_place,
           .traits = kNoTraits},
          {.kind = Kind::k_lstm_sequence_grad,
           .signature = {.min_inputs = 6, .max_inputs = 7, .min_outputs = 3, .max_outputs = 3, .ints = 5},
           .infer = lstm_sequence_grad_rule,
           .gradient = kNoGradient,
           .cost = sequence_cost<3, 48>,
           .in_place = lstm_sequence_grad_in_place,
           .traits = kNoTraits},
          {.kind = Kind::k_gru_sequence,
           .signature = {.min_inputs = 3, .max_inputs = 4, .min_outputs = 4, .max_outputs = 4, .ints = 4},
           .infer = gru_sequence_rule,
           .gradient = gru_sequence_gradient,
           .cost = sequence_cost<1, 70>,
           .in_place = gru_sequence_in_place,
           .traits = kNoTraits},
          {.kind = Kind::k_gru_sequence_grad,
           .signature = {.min_inputs = 6, .max_inputs = 7, .min_outputs = 3, .max_outputs = 3, .ints = 4},
           .infer = gru_sequence_grad_rule,
           .gradient = kNoGradient,
           .cost = sequence_cost<4, 21>,
           .in_place = gru_sequence_grad_in_place,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
