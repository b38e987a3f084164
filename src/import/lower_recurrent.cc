// LSTM, GRU and RNN over time: LSTM and GRU as ops of several steps each, where that was asked for and they have the
// usual form; else unrolled: for each step a product with its input, one with the state, and a cell.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "import/concat_part.h"
#include "import/operators.h"
#include "import/recurrent_weights.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

constexpr int64_t kMostSteps = 4096;

enum Input : size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

using Sizes = RecurrentSizes;

// What one direction computes with, and its state.
struct Direction {
  RecurrentWeights weights;
  ValueId h = ir::kNone, c = ir::kNone;
  bool reverse = false;
  ValueId candidate_r = ir::kNone, candidate_bias = ir::kNone;  // of a GRU that resets its state before the product
  std::vector<ValueId> peepholes = {};                          // of an LSTM's gates i, o, f
};

struct Sequence {
  std::vector<ValueId> h;  // by time
  ValueId last_h = ir::kNone, last_c = ir::kNone;
};

// One time step: z (the inputs' product), p (the state's), the direction's state -> its next state.
using Cell = void (*)(Node& node, const std::string& name, ValueId z, ValueId p, Direction& state);

void lstm_step(Node& node, const std::string& name, ValueId z, ValueId p, Direction& state) {
  const std::vector<ValueId> made =
      node.builder().add(Kind::k_lstm_cell, name, {z, p, state.c}, {state.weights.blocks, {}});
  state.h = made[0];
  state.c = made[1];
}

void gru_step(Node& node, const std::string& name, ValueId z, ValueId p, Direction& state) {
  state.h = node.builder().add(Kind::k_gru_cell, name, {z, p, state.h}, {state.weights.blocks, {}})[0];
}

template <Kind kActivation>
void rnn_step(Node& node, const std::string& name, ValueId z, ValueId p, Direction& state) {
  state.h = node.builder().op(kActivation, name, {node.builder().op(Kind::k_add, name + ".sum", {z, p})});
}

Result<void> want_shape(Node& node, size_t input, const Shape& shape, const char* what) {
  if (node.shape(input) == shape) return {};
  return fail("E0211", fmt::format("its {} has the shape {} instead of {}", what, ir::to_text(node.shape(input)),
                                   ir::to_text(shape)));
}

Result<Sizes> sizes_of(Node& node, int64_t gates) {
  for (const size_t input : {kX, kW, kR}) {
    if (!node.has(input)) return fail("E0211", fmt::format("its input {} is missing", size_t{input}));
    if (node.shape(input).size() != 3) return fail("E0211", "its X, W and R do not have three dimensions");
  }
  const Shape x = node.shape(kX), r = node.shape(kR);
  const bool both = node.attributes().text("direction", "forward") == "bidirectional";
  const int64_t layout = node.attributes().integer("layout", 0);
  if (layout != 0 && layout != 1) return fail("E0211", fmt::format("its layout is {}", layout));
  const Sizes sizes{gates, x[layout == 0 ? 0 : 1], x[layout == 0 ? 1 : 0], x[2], r[2], both ? 2 : 1, layout == 1};
  PANTOUM_TRY(want_shape(node, kW, {sizes.directions, gates * sizes.hidden, sizes.inputs}, "W"));
  PANTOUM_TRY(want_shape(node, kR, {sizes.directions, gates * sizes.hidden, sizes.hidden}, "R"));
  if (node.has(kB)) PANTOUM_TRY(want_shape(node, kB, {sizes.directions, 2 * gates * sizes.hidden}, "B"));
  if (node.attributes().integer("hidden_size", sizes.hidden) != sizes.hidden)
    return fail("E0211", "its hidden_size is not that of its weights");
  if (sizes.steps > kMostSteps)
    return unsupported(fmt::format("it has {} time steps, more than {}", sizes.steps, kMostSteps),
                       "train on shorter sequences");
  return sizes;
}

// The same where the batch may be the one that was traced, and another is bound now.
Result<void> want_shape_of_some_batch(Node& node, size_t input, Shape shape, size_t batch, const char* what) {
  const Shape found = node.shape(input);
  if (!node.batch_is_the_models() && found.size() == shape.size()) shape[batch] = found[batch];
  return want_shape(node, input, shape, what);
}

// Are all sequences as long as the input? E0211 for a list that no input could have.
Result<bool> full_length(Node& node, const Sizes& sizes) {
  if (!node.has(kLengths)) return true;
  if (ir::is_float(node.type(kLengths).dtype)) return fail("E0211", "its sequence_lens are no integers");
  PANTOUM_TRY(want_shape_of_some_batch(node, kLengths, {sizes.batch}, 0, "sequence_lens"));
  const Tensor* lengths = node.setting(kLengths);
  if (lengths == nullptr) return false;
  const std::vector<int64_t> values = *to_ints(*lengths);
  const auto possible = [&](int64_t length) { return length >= 0 && length <= sizes.steps; };
  if (!std::all_of(values.begin(), values.end(), possible))
    return fail("E0211", fmt::format("its sequence_lens are not all between 0 and its {} time steps", sizes.steps));
  return std::all_of(values.begin(), values.end(), [&](int64_t length) { return length == sizes.steps; });
}

Result<void> check_form(Node& node, const Sizes& sizes) {
  const std::string direction = node.attributes().text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return fail("E0211", fmt::format("its direction '{}' is unknown", direction));
  PANTOUM_ASSIGN(const bool full, full_length(node, sizes));
  if (!full)
    return unsupported("its sequences differ in length", "pad them to one length, without pack_padded_sequence");
  if (node.attributes().has("clip")) return unsupported("it clips its gates", "leave clip out");
  return {};
}

// The activations in lower case, once for every direction; what `otherwise` says where the model says nothing.
Result<std::vector<std::string>> activations(Node& node, const Sizes& sizes, std::vector<std::string> otherwise) {
  auto told = node.attributes().texts("activations");
  if (!told) return otherwise;
  const size_t each = otherwise.size();
  if (told->size() != each * static_cast<size_t>(sizes.directions))
    return fail("E0211", "it has another number of activations");
  for (std::string& name : *told)
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool alike = std::equal(told->end() - static_cast<std::ptrdiff_t>(each), told->end(), told->begin());
  if (!alike) return unsupported("its directions have different activations");
  told->resize(each);
  return *told;
}

Result<void> want_activations(Node& node, const Sizes& sizes, const std::vector<std::string>& usual) {
  PANTOUM_ASSIGN(const std::vector<std::string> told, activations(node, sizes, usual));
  if (told == usual) return {};
  return unsupported("its activations are not the usual ones", "use sigmoid for its gates and tanh for its state");
}

bool is_zero(const Tensor* tensor) {
  return tensor != nullptr &&
         std::all_of(tensor->data->begin(), tensor->data->end(), [](std::byte byte) { return byte == std::byte{0}; });
}

// The initial states; absent or known to be zero (of whatever batch was traced): one constant for all.
Result<std::vector<ValueId>> initial(Node& node, size_t input, const Sizes& sizes, ValueId& zero) {
  if (node.has(input) && !is_zero(node.setting(input))) {
    Shape state{sizes.directions, sizes.batch, sizes.hidden};
    if (sizes.batch_first) std::swap(state[0], state[1]);
    PANTOUM_TRY(want_shape(node, input, state, "initial state"));
    PANTOUM_ASSIGN(ValueId id, node.real(input));
    if (sizes.batch_first) {
      PANTOUM_ASSIGN(id, node.transpose(id, {1, 0, 2}));
    }
    return by_direction(node, id, sizes.directions);
  }
  if (node.has(input))
    PANTOUM_TRY(
        want_shape_of_some_batch(node, input, {sizes.directions, sizes.batch, sizes.hidden}, 1, "initial state"));
  if (zero == ir::kNone) {
    const auto count = static_cast<size_t>(sizes.batch * sizes.hidden);
    zero = node.builder().constant_f32(node.label() + ".zero", {sizes.batch, sizes.hidden},
                                       std::vector<float>(count, 0.0F));
  }
  return std::vector<ValueId>(static_cast<size_t>(sizes.directions), zero);
}

Result<std::vector<Direction>> directions_of(Node& node, const Sizes& sizes, bool biases_apart, bool has_cell_state) {
  PANTOUM_ASSIGN(const std::vector<RecurrentWeights> weights, recurrent_weights(node, sizes, biases_apart));
  ValueId zero = ir::kNone;
  PANTOUM_ASSIGN(const std::vector<ValueId> h, initial(node, kInitialH, sizes, zero));
  std::vector<ValueId> c(h.size(), ir::kNone);
  if (has_cell_state) {
    PANTOUM_ASSIGN(c, initial(node, kInitialC, sizes, zero));
  }
  std::vector<Direction> directions(weights.size());
  for (size_t d = 0; d < weights.size(); ++d) {
    const bool reverse = d == 1 || node.attributes().text("direction", "forward") == "reverse";
    directions[d] = {weights[d], h[d], c[d], reverse};
  }
  return directions;
}

std::vector<ValueId> factors(ValueId a, ValueId b, ValueId bias) {
  return bias == ir::kNone ? std::vector{a, b} : std::vector{a, b, bias};
}

// What one gate adds up: its block of z and, where it has one, of p.
ValueId gate_sum(Node& node, const std::string& name, const std::vector<ValueId>& z, const std::vector<ValueId>& p,
                 int64_t block) {
  const auto at = static_cast<size_t>(block);
  return node.builder().op(Kind::k_add, name + ".sum", {z[at], p[at]});
}

std::vector<ValueId> blocks_of(Node& node, const std::string& name, ValueId x, int64_t axis, int64_t count) {
  const int64_t each = node.builder().type(x).shape[static_cast<size_t>(axis)] / count;
  return node.builder().split(name, x, axis, std::vector<int64_t>(static_cast<size_t>(count), each));
}

// h' = u h + (1 - u) tanh(z + (r h) R' + b): p holds the gates u and r alone.
void gru_reset_first_step(Node& node, const std::string& name, ValueId z, ValueId p, Direction& state) {
  ir::Builder& builder = node.builder();
  const std::vector<int64_t>& order = state.weights.blocks;
  const std::vector<ValueId> zs = blocks_of(node, name + ".z", z, 1, 3), ps = blocks_of(node, name + ".p", p, 1, 2);
  const auto gate = [&](const char* what, int64_t block, size_t of_p) {
    const ValueId sum = builder.op(Kind::k_add, name + what, {zs[static_cast<size_t>(block)], ps[of_p]});
    return builder.op(Kind::k_sigmoid, name + what, {sum});
  };
  const ValueId update = gate(".update", order[0], 0), reset = gate(".reset", order[1], 1);
  const ValueId left = builder.op(Kind::k_mul, name + ".left", {reset, state.h});
  const ValueId product = builder.op(Kind::k_matmul, name + ".candidate",
                                     factors(left, state.candidate_r, state.candidate_bias), {{0, 1}, {}});
  const ValueId sum = builder.op(Kind::k_add, name + ".candidate", {zs[static_cast<size_t>(order[2])], product});
  const ValueId candidate = builder.op(Kind::k_tanh, name + ".candidate", {sum});
  const ValueId difference = builder.op(Kind::k_sub, name + ".difference", {state.h, candidate});
  const ValueId kept = builder.op(Kind::k_mul, name + ".kept", {update, difference});
  state.h = builder.op(Kind::k_add, name, {candidate, kept});
}

// Takes the candidate's rows out of R and its bias, once for all steps.
void part_candidate(Node& node, Direction& direction) {
  const std::vector<int64_t>& order = direction.weights.blocks;
  const auto part = [&](ValueId& whole, ValueId& candidate) {
    if (whole == ir::kNone) return;
    const std::vector<ValueId> blocks = blocks_of(node, node.label() + ".gates", whole, 0, 3);
    candidate = blocks[static_cast<size_t>(order[2])];
    const std::vector<ValueId> gates{blocks[static_cast<size_t>(order[0])], blocks[static_cast<size_t>(order[1])]};
    whole = node.builder().concat(node.label() + ".gates", gates, 0);
  };
  part(direction.weights.r, direction.candidate_r);
  part(direction.weights.h_bias, direction.candidate_bias);
}

// As the cell, but the gates see the cell's state as well: i and f the one before, o the one after.
void lstm_peephole_step(Node& node, const std::string& name, ValueId z, ValueId p, Direction& state) {
  ir::Builder& builder = node.builder();
  const std::vector<int64_t>& order = state.weights.blocks;  // i, o, f, c
  const std::vector<ValueId> zs = blocks_of(node, name + ".z", z, 1, 4), ps = blocks_of(node, name + ".p", p, 1, 4);
  const auto gate = [&](size_t which, ValueId c) {
    const ValueId sum = gate_sum(node, name, zs, ps, order[which]);
    const ValueId seen = builder.op(Kind::k_mul, name + ".peephole", {c, state.peepholes[which]});
    return builder.op(Kind::k_sigmoid, name + ".gate", {builder.op(Kind::k_add, name + ".gate", {sum, seen})});
  };
  const ValueId candidate = builder.op(Kind::k_tanh, name + ".candidate", {gate_sum(node, name, zs, ps, order[3])});
  const ValueId added = builder.op(Kind::k_mul, name + ".added", {gate(0, state.c), candidate});
  const ValueId kept = builder.op(Kind::k_mul, name + ".kept", {gate(2, state.c), state.c});
  state.c = builder.op(Kind::k_add, name + ".c", {added, kept});
  state.h = builder.op(Kind::k_mul, name, {gate(1, state.c), builder.op(Kind::k_tanh, name + ".tanh", {state.c})});
}

// [D, 3H] -> i, o, f of every direction.
Result<void> read_peepholes(Node& node, const Sizes& sizes, std::vector<Direction>& directions) {
  if (!node.has(kPeepholes)) return {};
  PANTOUM_TRY(want_shape(node, kPeepholes, {sizes.directions, 3 * sizes.hidden}, "P"));
  PANTOUM_ASSIGN(const ValueId p, node.real(kPeepholes));
  const std::vector<ValueId> each = by_direction(node, p, sizes.directions);
  for (size_t d = 0; d < directions.size(); ++d)
    directions[d].peepholes = blocks_of(node, node.label() + ".peepholes", each[d], 0, 3);
  return {};
}

// The input of every time step, [N, I]: what it was concatenated from (the layer below), or a piece.
Result<std::vector<ValueId>> inputs_of(Node& node, const Sizes& sizes) {
  PANTOUM_ASSIGN(ValueId x, node.real(kX));
  if (sizes.batch_first) {
    PANTOUM_ASSIGN(x, node.transpose(x, {1, 0, 2}));
  }
  std::vector<ValueId> steps;
  for (int64_t time = 0; time < sizes.steps; ++time) {
    const ValueId part = concat_part(node.builder(), x, 0, time);
    if (part == ir::kNone) break;
    steps.push_back(part);
  }
  if (static_cast<int64_t>(steps.size()) < sizes.steps)
    steps = node.builder().split(node.label() + ".x", x, 0, std::vector<int64_t>(static_cast<size_t>(sizes.steps), 1));
  for (ValueId& step : steps) step = node.builder().reshape(step, {sizes.batch, sizes.inputs});
  return steps;
}

// Two products and a cell a step: what can be dropped and computed again, or paged, step by step.
Result<Sequence> unroll(Node& node, const std::vector<ValueId>& inputs, Direction state, Cell cell) {
  const ir::Attrs transposed{{0, 1}, {}};
  Sequence made;
  made.h.resize(inputs.size());
  for (size_t count = 0; count < inputs.size(); ++count) {
    const size_t time = state.reverse ? inputs.size() - 1 - count : count;
    const std::string name = fmt::format("{}.{}{}", node.label(), state.reverse ? "back" : "", time);
    const std::vector<ValueId> x = factors(inputs[time], state.weights.w, state.weights.x_bias);
    const std::vector<ValueId> h = factors(state.h, state.weights.r, state.weights.h_bias);
    PANTOUM_TRY(ir::infer_types(Kind::k_matmul, {ir::types_of(node.builder().graph(), x), {}, transposed}));
    const ValueId z = node.builder().op(Kind::k_matmul, name + ".x", x, transposed);
    const ValueId p = node.builder().op(Kind::k_matmul, name + ".h", h, transposed);
    cell(node, name, z, p, state);
    made.h[time] = state.h;
  }
  made.last_h = state.h;
  made.last_c = state.c;
  return made;
}

// How many steps each op of a sequence has: so many that the products of backward are tall, and no more, so that the ops
// can be kept, paged or recomputed one by one, and a piece takes no more RAM than the stacked products of unrolled steps
// (autodiff/shared_products.cc) do.
std::vector<int64_t> steps_of_ops(const Sizes& sizes) {
  constexpr int64_t kTallRows = 128;
  const int64_t each = (kTallRows + sizes.batch - 1) / sizes.batch, ops = (sizes.steps + each - 1) / each;
  std::vector<int64_t> steps;
  for (int64_t op = 0; op < ops; ++op) steps.push_back(sizes.steps * (op + 1) / ops - sizes.steps * op / ops);
  return steps;
}

// What x was joined from along time (the layer below), where its pieces have these extents; else nothing.
std::vector<ValueId> joined_from(const ir::Builder& builder, ValueId x, const std::vector<int64_t>& steps) {
  constexpr int kMostReshapes = 8;
  const ir::Graph& graph = builder.graph();
  const auto extent = [&](ValueId id) { return builder.type(id).shape.empty() ? 0 : builder.type(id).shape[0]; };
  for (int reshapes = 0; reshapes < kMostReshapes && graph.value(x).producer != ir::kNone; ++reshapes) {
    const ir::Op& op = graph.op(graph.value(x).producer);
    if (op.kind == Kind::k_concat && op.attrs.ints[0] == 0) {
      const bool fits = std::equal(op.inputs.begin(), op.inputs.end(), steps.begin(), steps.end(),
                                   [&](ValueId part, int64_t count) { return extent(part) == count; });
      return fits ? op.inputs : std::vector<ValueId>();
    }
    if (op.kind != Kind::k_alias || extent(op.inputs[0]) != extent(x)) break;
    x = op.inputs[0];
  }
  return {};
}

// The inputs of so many steps each, as rows [steps N, I].
Result<std::vector<ValueId>> input_rows(Node& node, const Sizes& sizes, const std::vector<int64_t>& steps) {
  PANTOUM_ASSIGN(ValueId x, node.real(kX));
  if (sizes.batch_first) {
    PANTOUM_ASSIGN(x, node.transpose(x, {1, 0, 2}));
  }
  std::vector<ValueId> rows = joined_from(node.builder(), x, steps);
  if (rows.empty()) rows = node.builder().split(node.label() + ".x", x, 0, steps);
  for (size_t op = 0; op < rows.size(); ++op)
    rows[op] = node.builder().reshape(rows[op], {steps[op] * sizes.batch, sizes.inputs});
  return rows;
}

// A product with the inputs of many steps, and an op for all of them: `h` are [steps, N, H].
Result<Sequence> run_in_series(Node& node, const Sizes& sizes, const std::vector<ValueId>& rows,
                               const std::vector<int64_t>& steps, Direction state) {
  ir::Builder& builder = node.builder();
  const ir::Attrs transposed{{0, 1}, {}};
  ir::Attrs attrs{state.weights.blocks, {}};
  attrs.ints.push_back(state.reverse ? 1 : 0);
  Sequence made;
  made.h.resize(rows.size());
  for (size_t count = 0; count < rows.size(); ++count) {
    const size_t op = state.reverse ? rows.size() - 1 - count : count;
    const std::string name = fmt::format("{}.{}{}", node.label(), state.reverse ? "back" : "", op);
    const std::vector<ValueId> x = factors(rows[op], state.weights.w, state.weights.x_bias);
    PANTOUM_TRY(ir::infer_types(Kind::k_matmul, {ir::types_of(builder.graph(), x), {}, transposed}));
    const ValueId z = builder.reshape(builder.op(Kind::k_matmul, name + ".x", x, transposed),
                                      {steps[op], sizes.batch, sizes.gates * sizes.hidden});
    const bool is_lstm = state.c != ir::kNone;
    std::vector<ValueId> inputs{z, state.weights.r, state.h};
    if (is_lstm) inputs.push_back(state.c);
    if (state.weights.h_bias != ir::kNone) inputs.push_back(state.weights.h_bias);
    const std::vector<ValueId> outputs =
        builder.add(is_lstm ? Kind::k_lstm_sequence : Kind::k_gru_sequence, name, inputs, attrs);
    if (outputs.size() < 4) break;  // the builder tells
    made.h[op] = outputs[0];
    state.h = outputs[3];
    if (is_lstm) state.c = outputs[4];
  }
  made.last_h = state.h;
  made.last_c = state.c;
  return made;
}

// Values joined along a dimension that each has with extent 1 in the shape `each`.
ValueId side_by_side(Node& node, const char* suffix, std::vector<ValueId> parts, const Shape& each, int64_t axis) {
  for (ValueId& part : parts) part = node.builder().reshape(part, each);
  return node.builder().concat(node.label() + suffix, std::move(parts), axis);
}

// States of one or more steps each -> [T, 1, N, H]
ValueId joined_steps(Node& node, const Sizes& sizes, std::vector<ValueId> h) {
  for (ValueId& part : h) {
    const int64_t steps = node.builder().graph().value(part).type.elements() / (sizes.batch * sizes.hidden);
    part = node.builder().reshape(part, {steps, 1, sizes.batch, sizes.hidden});
  }
  return node.builder().concat(node.label() + ".y", std::move(h), 0);
}

void set_outputs(Node& node, const Sizes& sizes, const std::vector<Sequence>& sequences) {
  const Shape whole{sizes.steps, 1, sizes.batch, sizes.hidden};
  const Shape state{1, sizes.batch, sizes.hidden};
  std::vector<ValueId> y, h, c;
  for (const Sequence& sequence : sequences) {
    if (node.wants(0)) y.push_back(joined_steps(node, sizes, sequence.h));
    h.push_back(sequence.last_h);
    c.push_back(sequence.last_c);
  }
  const auto set = [&](size_t output, ValueId made, std::vector<int64_t> batch_first) {
    node.set(output, sizes.batch_first ? node.builder().transpose(node.label(), made, std::move(batch_first)) : made);
  };
  if (node.wants(0)) set(0, side_by_side(node, ".directions", y, whole, 1), {2, 0, 1, 3});
  if (node.wants(1)) set(1, side_by_side(node, ".h", h, state, 0), {1, 0, 2});
  if (node.wants(2) && c[0] != ir::kNone) set(2, side_by_side(node, ".c", c, state, 0), {1, 0, 2});
}

Result<void> lower(Node& node, const Sizes& sizes, bool biases_apart, bool has_cell_state, Cell cell) {
  PANTOUM_TRY(check_form(node, sizes));
  PANTOUM_ASSIGN(std::vector<Direction> directions, directions_of(node, sizes, biases_apart, has_cell_state));
  if (has_cell_state) PANTOUM_TRY(read_peepholes(node, sizes, directions));
  if (cell == gru_reset_first_step)
    for (Direction& direction : directions) part_candidate(node, direction);
  const std::vector<int64_t> steps = steps_of_ops(sizes);
  const bool has_series = cell == lstm_step || cell == gru_step;  // several steps an op, or the steps as they are
  const bool in_series = node.recurrent_series() && has_series && static_cast<int64_t>(steps.size()) < sizes.steps;
  PANTOUM_ASSIGN(const std::vector<ValueId> inputs,
                 in_series ? input_rows(node, sizes, steps) : inputs_of(node, sizes));
  std::vector<Sequence> sequences;
  for (const Direction& direction : directions) {
    PANTOUM_ASSIGN(Sequence made, in_series ? run_in_series(node, sizes, inputs, steps, direction)
                                            : unroll(node, inputs, direction, cell));
    sequences.push_back(std::move(made));
  }
  set_outputs(node, sizes, sequences);
  return {};
}

Result<void> lower_lstm(Node& node) {
  PANTOUM_ASSIGN(const Sizes sizes, sizes_of(node, 4));
  PANTOUM_TRY(want_activations(node, sizes, {"sigmoid", "tanh", "tanh"}));
  if (node.attributes().integer("input_forget", 0) != 0)
    return unsupported("it couples its input and forget gates", "use an LSTM with gates of their own");
  return lower(node, sizes, false, true, node.has(kPeepholes) ? lstm_peephole_step : lstm_step);
}

Result<void> lower_gru(Node& node) {
  PANTOUM_ASSIGN(const Sizes sizes, sizes_of(node, 3));
  PANTOUM_TRY(want_activations(node, sizes, {"sigmoid", "tanh"}));
  const bool product_first = node.attributes().integer("linear_before_reset", 0) != 0;  // as PyTorch's GRU
  return lower(node, sizes, true, false, product_first ? gru_step : gru_reset_first_step);
}

Result<void> lower_rnn(Node& node) {
  PANTOUM_ASSIGN(const Sizes sizes, sizes_of(node, 1));
  PANTOUM_ASSIGN(const std::vector<std::string> told, activations(node, sizes, {"tanh"}));
  if (told[0] == "tanh") return lower(node, sizes, false, false, rnn_step<Kind::k_tanh>);
  if (told[0] == "relu") return lower(node, sizes, false, false, rnn_step<Kind::k_relu>);
  return unsupported(fmt::format("its activation is '{}'", told[0]), "use tanh or relu");
}

constexpr const char* kForms =
    "unrolled over time, with shared weights; a fixed length for the whole batch; both directions";
constexpr const char* kSeriesForms =
    "in training several time steps an op; unrolled with batches of 128 and more, peepholes, a reset before the "
    "product, "
    "and --disable fusions; a fixed length for the whole batch; both directions";
constexpr std::array kRecurrentOperators = {
    OperatorEntry{"LSTM", lower_lstm, "split transpose add matmul lstm_sequence lstm_cell sigmoid tanh mul concat",
                  kSeriesForms},
    OperatorEntry{"GRU", lower_gru, "split transpose add matmul gru_sequence gru_cell sigmoid tanh mul sub concat",
                  kSeriesForms},
    OperatorEntry{"RNN", lower_rnn, "split transpose matmul add tanh relu concat", kForms}};

}  // namespace

std::span<const OperatorEntry> recurrent_operators() {
  return kRecurrentOperators;
}

}  // namespace pantoum::import
