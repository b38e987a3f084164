// LSTM, GRU and RNN over time: LSTM and GRU as ops of several steps each, where that was asked for and they have the
// usual form; else unrolled: for each step a product with its input, one with the state, and a cell.

#include <algorithm>
#include <cctype>
#include <numeric>

#include "import/compose.h"
#include "import/gate_blocks.h"
#include "import/operators.h"

namespace pantoum::import {
namespace {

constexpr int64_t kMostSteps = 4096;

enum Input : size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeepholes };

struct Sizes {
  int64_t gates, steps, batch, inputs, hidden, directions;
  bool batch_first = false;  // of X, Y and the states: layout 1
};

// The weights and the state of one direction.
struct Direction {
  Value w, r, x_bias, h_bias;  // the biases may be left out
  Integers blocks;             // of columns, by gate in ONNX's order
  bool turned = false;         // w is [inputs, gates hidden] and r [hidden, gates hidden], not the other way round
  Value h, c;                  // c: of an LSTM
  bool reverse = false;
  Value candidate_r, candidate_bias;  // of a GRU that resets its state before the product
  Values peepholes;                   // of an LSTM's gates i, o, f
};
using Directions = std::vector<Direction>;

// Carries the name of what it views.
Value view(const Value& x, const Shape& shape) {
  return x ? x.in().at(x.in().builder().reshape(x, shape)) : x;
}

Values parts_of(const char* suffix, const Value& x, size_t axis, const Integers& extents) {
  const Suffix named(x.in(), suffix);
  return split(x, axis, extents);
}

Values even_parts(const char* suffix, const Value& x, size_t axis, int64_t count) {
  return parts_of(suffix, x, axis, Integers(static_cast<size_t>(count), x.shape()[axis] / count));
}

// [D, ...] -> one [...] for every direction.
Values by_direction(const Value& x) {
  const Shape shape = x.shape();
  Values parts = even_parts(".directions", x, 0, shape[0]);
  for (Value& part : parts) part = view(part, Shape(shape.begin() + 1, shape.end()));
  return parts;
}

// The operands as they are given, of all directions.
struct Given {
  Value w, r, b;
};

// The matrix that x is the transpose of; none where x is something else.
ValueId transposed_from(const Graph& graph, ValueId x) {
  const OpId producer = graph.value(x).producer;
  if (producer == ir::kNone || graph.value(x).type.shape.size() != 2) return ir::kNone;
  const Op& op = graph.op(producer);
  return op.kind == Kind::k_transpose && op.attrs.ints == Integers{1, 0} ? op.inputs[0] : ir::kNone;
}

// Where both weights are transposes, as those of NNTrainer are, the products read what was transposed. Ops of several steps want them as they are.
void turn(Node& node, Direction& direction) {
  const Graph& graph = node.builder().graph();
  const ValueId w = transposed_from(graph, direction.w), r = transposed_from(graph, direction.r);
  if (node.lowering().recurrent_series || w == ir::kNone || r == ir::kNone) return;
  direction.w = node.at(w), direction.r = node.at(r);
  direction.turned = true;
}

// Of every direction, where all weights are put together from the blocks of other values (PyTorch has its gates in another order) in one
// order: those values, so that no copy stands beside them.
std::optional<Directions> weights_from_sources(Node& node, const Sizes& sizes, const Given& given) {
  Integers blocks;  // of what was taken so far
  bool alike = true;
  // Rows of `columns` elements for each gate, the `at`-th such of the operand.
  const auto take = [&](const Value& operand, int64_t at, int64_t columns) {
    const int64_t block = sizes.hidden * columns;
    const auto found = gate_blocks(node.builder().graph(), operand, at * sizes.gates * block, sizes.gates, block);
    alike = alike && found && (blocks.empty() || found->blocks == blocks);
    if (alike) blocks = found->blocks;
    return node.at(alike ? found->source : ir::kNone);
  };
  Directions made(static_cast<size_t>(sizes.directions));
  for (int64_t d = 0; d < sizes.directions; ++d) {
    Direction& direction = made[static_cast<size_t>(d)];
    direction.w = take(given.w, d, sizes.inputs);
    direction.r = take(given.r, d, sizes.hidden);
    if (!given.b) continue;
    direction.x_bias = take(given.b, 2 * d, 1);
    const int64_t rows = sizes.gates * sizes.hidden;
    if (!is_zero_part(node.builder().graph(), given.b, (2 * d + 1) * rows, rows))
      direction.h_bias = take(given.b, 2 * d + 1, 1);
  }
  if (!alike) return std::nullopt;
  const int64_t rows = sizes.gates * sizes.hidden;
  for (Direction& direction : made) {
    turn(node, direction);
    if (!direction.turned) {
      direction.w = view(direction.w, {rows, sizes.inputs});
      direction.r = view(direction.r, {rows, sizes.hidden});
    }
    for (Value* const bias : {&direction.x_bias, &direction.h_bias})
      if (*bias) *bias = view(*bias, {rows});
    direction.blocks = blocks;
  }
  return made;
}

Directions weights_as_given(const Sizes& sizes, const Given& given) {
  const Values ws = by_direction(given.w), rs = by_direction(given.r), bs = given.b ? by_direction(given.b) : Values();
  Integers blocks(static_cast<size_t>(sizes.gates));
  std::iota(blocks.begin(), blocks.end(), int64_t{0});
  Directions made;
  for (size_t d = 0; d < ws.size(); ++d) {
    const Values biases = bs.empty() ? Values(2) : even_parts(".b", bs[d], 0, 2);
    made.push_back({ws[d], rs[d], biases[0], biases[1], blocks});
  }
  return made;
}

// Of every direction. `biases_apart`: the cell wants to know them, else the inputs' product takes their sum. The shapes of W, R and B
// have been checked.
Result<Directions> read_weights(Node& node, const Sizes& sizes, bool biases_apart) {
  const Value w = node.real(kW), r = node.real(kR);
  const Given given{w, r, node.optional(kB)};
  PANTOUM_TRY(node.refusal());
  std::optional<Directions> made = weights_from_sources(node, sizes, given);
  if (!made) made = weights_as_given(sizes, given);
  for (Direction& direction : *made) {
    if (biases_apart || !direction.x_bias || !direction.h_bias) continue;
    const Suffix named(node, ".bias");
    direction.x_bias = direction.x_bias + direction.h_bias;
    direction.h_bias = {};
  }
  return *made;
}

struct Sequence {
  Values h;  // by time
  Value last_h, last_c;
};

// `turned`: the weight is [inputs, outputs].
Value linear(const Value& x, const Value& weight, const Value& bias, bool turned) {
  return x.in().op(Kind::k_matmul, bias ? Values{x, weight, bias} : Values{x, weight}, {{0, turned ? 0 : 1}, {}});
}

// One time step: z (the inputs' product), p (the state's), the direction's state -> its next state.
using Cell = void (*)(const Value& z, const Value& p, Direction& state);

void lstm_step(const Value& z, const Value& p, Direction& state) {
  const Values made = z.in().ops(Kind::k_lstm_cell, {z, p, state.c}, {state.blocks, {}});
  state.h = made[0];
  state.c = made[1];
}

void gru_step(const Value& z, const Value& p, Direction& state) {
  state.h = z.in().op(Kind::k_gru_cell, {z, p, state.h}, {state.blocks, {}});
}

Value sum_of(const Value& z, const Value& p) {
  const Suffix named(z.in(), ".sum");
  return z + p;
}

template <Kind kActivation>
void rnn_step(const Value& z, const Value& p, Direction& state) {
  state.h = apply(kActivation, sum_of(z, p));
}

Result<void> want_shape(Node& node, size_t input, const Shape& shape, const char* what) {
  if (node.shape(input) == shape) return {};
  return misfit("its {} has the shape {} instead of {}", what, ir::to_text(node.shape(input)), ir::to_text(shape));
}

Result<Sizes> sizes_of(Node& node, int64_t gates) {
  for (const size_t input : {kX, kW, kR})
    if (node.shape(input).size() != 3) return misfit("its X, W and R do not have three dimensions");
  const Shape x = node.shape(kX), r = node.shape(kR);
  const bool both = node.attributes().text("direction", "forward") == "bidirectional";
  const int64_t layout = node.attributes().integer("layout", 0);
  if (layout != 0 && layout != 1) return misfit("its layout is {}", layout);
  const Sizes sizes{gates, x[layout == 0 ? 0 : 1], x[layout == 0 ? 1 : 0], x[2], r[2], both ? 2 : 1, layout == 1};
  PANTOUM_TRY(want_shape(node, kW, {sizes.directions, gates * sizes.hidden, sizes.inputs}, "W"));
  PANTOUM_TRY(want_shape(node, kR, {sizes.directions, gates * sizes.hidden, sizes.hidden}, "R"));
  if (node.has(kB)) PANTOUM_TRY(want_shape(node, kB, {sizes.directions, 2 * gates * sizes.hidden}, "B"));
  if (node.attributes().integer("hidden_size", sizes.hidden) != sizes.hidden)
    return misfit("its hidden_size is not that of its weights");
  if (sizes.steps > kMostSteps)
    return unsupported(fmt::format("it has {} time steps, more than {}", sizes.steps, kMostSteps),
                       "train on shorter sequences");
  return sizes;
}

// The same where the batch may be the one that was traced, and another is bound now.
Result<void> want_shape_of_some_batch(Node& node, size_t input, Shape shape, size_t batch, const char* what) {
  const Shape found = node.shape(input);
  if (!node.lowering().batch_is_the_models && found.size() == shape.size()) shape[batch] = found[batch];
  return want_shape(node, input, shape, what);
}

// Are all sequences as long as the input? E0211 for a list that no input could have.
Result<bool> full_length(Node& node, const Sizes& sizes) {
  if (!node.has(kLengths)) return true;
  if (ir::is_float(node.type(kLengths).dtype)) return misfit("its sequence_lens are no integers");
  PANTOUM_TRY(want_shape_of_some_batch(node, kLengths, {sizes.batch}, 0, "sequence_lens"));
  const Tensor* lengths = node.setting(kLengths);
  if (lengths == nullptr) return false;
  const Integers values = *to_ints(*lengths);
  const auto possible = [&](int64_t length) { return length >= 0 && length <= sizes.steps; };
  if (!std::ranges::all_of(values, possible))
    return misfit("its sequence_lens are not all between 0 and its {} time steps", sizes.steps);
  return std::ranges::all_of(values, [&](int64_t length) { return length == sizes.steps; });
}

Result<void> check_form(Node& node, const Sizes& sizes) {
  const std::string direction = node.attributes().text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    return misfit("its direction '{}' is unknown", direction);
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
    return misfit("it has another number of activations");
  for (std::string& name : *told)
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
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

// An input without layout 1: its first two dimensions are swapped where the node has that.
Value time_first(Node& node, size_t input, const Sizes& sizes) {
  const Value given = node.real(input);
  return sizes.batch_first ? transpose(given, {1, 0, 2}) : given;
}

// The initial states; absent or known to be zero (of whatever batch was traced): one constant for all.
Result<Values> initial(Node& node, size_t input, const Sizes& sizes, Value& zero) {
  if (node.has(input) && !is_zero(node.setting(input))) {
    Shape state{sizes.directions, sizes.batch, sizes.hidden};
    if (sizes.batch_first) std::swap(state[0], state[1]);
    PANTOUM_TRY(want_shape(node, input, state, "initial state"));
    const Value given = time_first(node, input, sizes);
    PANTOUM_TRY(node.refusal());
    return by_direction(given);
  }
  if (node.has(input))
    PANTOUM_TRY(
        want_shape_of_some_batch(node, input, {sizes.directions, sizes.batch, sizes.hidden}, 1, "initial state"));
  if (!zero) {
    const Suffix named(node, ".zero");
    const auto count = static_cast<size_t>(sizes.batch * sizes.hidden);
    zero = node.constant(DType::kF32, {sizes.batch, sizes.hidden}, std::vector<double>(count, 0));
  }
  return Values(static_cast<size_t>(sizes.directions), zero);
}

Result<Directions> directions_of(Node& node, const Sizes& sizes, bool biases_apart, bool has_cell_state) {
  PANTOUM_ASSIGN(Directions directions, read_weights(node, sizes, biases_apart));
  Value zero;
  PANTOUM_ASSIGN(const Values h, initial(node, kInitialH, sizes, zero));
  Values c(h.size());
  if (has_cell_state) {
    PANTOUM_ASSIGN(c, initial(node, kInitialC, sizes, zero));
  }
  for (size_t d = 0; d < directions.size(); ++d) {
    directions[d].reverse = d == 1 || node.attributes().text("direction", "forward") == "reverse";
    directions[d].h = h[d];
    directions[d].c = c[d];
  }
  return directions;
}

// h' = u h + (1 - u) tanh(z + (r h) R' + b): p holds the gates u and r alone.
void gru_reset_first_step(const Value& z, const Value& p, Direction& state) {
  const Values zs = even_parts(".z", z, 1, 3), ps = even_parts(".p", p, 1, 2);
  const auto of = [&](size_t gate) { return zs[static_cast<size_t>(state.blocks[gate])]; };
  const Value update = sigmoid(of(0) + ps[0]), reset = sigmoid(of(1) + ps[1]);
  const Value product = linear(reset * state.h, state.candidate_r, state.candidate_bias, state.turned);
  const Value candidate = tanh(of(2) + product);
  state.h = candidate + update * (state.h - candidate);
}

// Takes the candidate's part out of R and its bias, once for all steps.
void part_candidate(Direction& direction) {
  const auto part = [&](Value& whole, Value& candidate, size_t axis) {
    if (!whole) return;
    const Suffix named(whole.in(), ".gates");
    const Values blocks = even_parts("", whole, axis, 3);
    const auto of = [&](size_t gate) { return blocks[static_cast<size_t>(direction.blocks[gate])]; };
    candidate = of(2);
    whole = concat({of(0), of(1)}, axis);
  };
  part(direction.r, direction.candidate_r, direction.turned ? 1 : 0);
  part(direction.h_bias, direction.candidate_bias, 0);
}

// As the cell, but the gates see the cell's state as well: i and f the one before, o the one after.
void lstm_peephole_step(const Value& z, const Value& p, Direction& state) {
  const Values zs = even_parts(".z", z, 1, 4), ps = even_parts(".p", p, 1, 4);
  const auto sum = [&](size_t which) {
    const auto block = static_cast<size_t>(state.blocks[which]);  // i, o, f, c
    return zs[block] + ps[block];
  };
  const auto gate = [&](size_t which) {
    const Value given = sum(which);
    return sigmoid(given + state.c * state.peepholes[which]);
  };
  const Value candidate = tanh(sum(3)), added = gate(0) * candidate, kept = gate(2) * state.c;
  state.c = added + kept;
  const Value opened = gate(1);
  state.h = opened * tanh(state.c);
}

// [D, 3H] -> i, o, f of every direction.
Result<void> read_peepholes(Node& node, const Sizes& sizes, Directions& directions) {
  if (!node.has(kPeepholes)) return {};
  PANTOUM_TRY(want_shape(node, kPeepholes, {sizes.directions, 3 * sizes.hidden}, "P"));
  const Value p = node.real(kPeepholes);
  PANTOUM_TRY(node.refusal());
  const Values each = by_direction(p);
  for (size_t d = 0; d < directions.size(); ++d) directions[d].peepholes = even_parts(".peepholes", each[d], 0, 3);
  return {};
}

// The input of every time step, [N, I]: what it was concatenated from (the layer below), or a piece.
Values inputs_of(const Value& x, const Sizes& sizes) {
  Values steps;
  for (int64_t time = 0; time < sizes.steps; ++time) {
    const ValueId part = concat_part(x.in().builder(), x, 0, time);
    if (part == ir::kNone) break;
    steps.push_back(x.in().at(part));
  }
  if (static_cast<int64_t>(steps.size()) < sizes.steps) steps = even_parts(".x", x, 0, sizes.steps);
  for (Value& step : steps) step = view(step, {sizes.batch, sizes.inputs});
  return steps;
}

// The place in time of the `count`-th step, or op of several, and what is appended for it.
struct Place {
  size_t at;
  std::string suffix;
};
Place place_of(const Direction& state, size_t count, size_t all) {
  const size_t at = state.reverse ? all - 1 - count : count;
  return {at, fmt::format(".{}{}", state.reverse ? "back" : "", at)};
}

Value product_of_inputs(const Value& x, const Direction& state) {
  const Suffix named(x.in(), ".x");
  return linear(x, state.w, state.x_bias, state.turned);
}

// Two products and a cell a step: what can be dropped and computed again, or paged, step by step.
Sequence unroll(Node& node, const Values& inputs, Direction state, Cell cell) {
  Sequence made{Values(inputs.size()), {}, {}};
  const auto product_of_state = [&] {
    const Suffix named(node, ".h");
    return linear(state.h, state.r, state.h_bias, state.turned);
  };
  for (size_t count = 0; count < inputs.size(); ++count) {
    const Place place = place_of(state, count, inputs.size());
    const Suffix named(node, place.suffix);
    const Value z = product_of_inputs(inputs[place.at], state);
    cell(z, product_of_state(), state);
    made.h[place.at] = state.h;
  }
  made.last_h = state.h;
  made.last_c = state.c;
  return made;
}

// How many steps each op of a sequence has: so many that the products of backward are tall, and no more, so that the ops
// can be kept, paged or recomputed one by one, and a piece takes no more RAM than the stacked products of unrolled steps
// (autodiff/backward.cc) do.
Integers steps_of_ops(const Sizes& sizes) {
  constexpr int64_t kTallRows = 128;
  const int64_t each = (kTallRows + sizes.batch - 1) / sizes.batch, ops = (sizes.steps + each - 1) / each;
  Integers steps;
  for (int64_t op = 0; op < ops; ++op) steps.push_back(sizes.steps * (op + 1) / ops - sizes.steps * op / ops);
  return steps;
}

// The pieces from which x was joined along time by the layer below, if they have these extents; else nothing.
std::vector<ValueId> joined_from(const ir::Builder& builder, ValueId x, const Integers& steps) {
  constexpr int kMostReshapes = 8;
  const Graph& graph = builder.graph();
  const auto extent = [&](ValueId id) { return builder.type(id).shape.empty() ? 0 : builder.type(id).shape[0]; };
  for (int reshapes = 0; reshapes < kMostReshapes && graph.value(x).producer != ir::kNone; ++reshapes) {
    const Op& op = graph.op(graph.value(x).producer);
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
Values input_rows(const Value& x, const Sizes& sizes, const Integers& steps) {
  Values rows;
  for (const ValueId part : joined_from(x.in().builder(), x, steps)) rows.push_back(x.in().at(part));
  if (rows.empty()) rows = parts_of(".x", x, 0, steps);
  for (size_t op = 0; op < rows.size(); ++op) rows[op] = view(rows[op], {steps[op] * sizes.batch, sizes.inputs});
  return rows;
}

// A product with the inputs of many steps, and an op for all of them: `h` are [steps, N, H].
Sequence run_in_series(Node& node, const Sizes& sizes, const Values& rows, const Integers& steps, Direction state) {
  Attrs attrs{state.blocks, {}};
  attrs.ints.push_back(state.reverse ? 1 : 0);
  Sequence made{Values(rows.size()), {}, {}};
  for (size_t count = 0; count < rows.size(); ++count) {
    const Place place = place_of(state, count, rows.size());
    const Suffix named(node, place.suffix);
    const Value z =
        view(product_of_inputs(rows[place.at], state), {steps[place.at], sizes.batch, sizes.gates * sizes.hidden});
    const bool is_lstm = static_cast<bool>(state.c);
    Values inputs{z, state.r, state.h};
    if (is_lstm) inputs.push_back(state.c);
    if (state.h_bias) inputs.push_back(state.h_bias);
    const Values outputs = node.ops(is_lstm ? Kind::k_lstm_sequence : Kind::k_gru_sequence, inputs, attrs);
    made.h[place.at] = outputs[0];
    state.h = outputs[3];
    if (is_lstm) state.c = outputs[4];
  }
  made.last_h = state.h;
  made.last_c = state.c;
  return made;
}

// Values joined along a dimension that each has with extent 1 in the shape `each`.
Value side_by_side(Node& node, const char* suffix, Values parts, const Shape& each, size_t axis) {
  for (Value& part : parts) part = view(part, each);
  const Suffix named(node, suffix);
  return concat(parts, axis);
}

// States of one or more steps each -> [T, 1, N, H]
Value joined_steps(Node& node, const Sizes& sizes, Values h) {
  for (Value& part : h)
    part = view(part, {part.elements() / (sizes.batch * sizes.hidden), 1, sizes.batch, sizes.hidden});
  const Suffix named(node, ".y");
  return concat(h, 0);
}

Result<void> set_outputs(Node& node, const Sizes& sizes, const std::vector<Sequence>& sequences) {
  PANTOUM_TRY(node.refusal());
  const Shape whole{sizes.steps, 1, sizes.batch, sizes.hidden}, state{1, sizes.batch, sizes.hidden};
  Values y, h, c;
  for (const Sequence& sequence : sequences) {
    if (node.wants(0)) y.push_back(joined_steps(node, sizes, sequence.h));
    h.push_back(sequence.last_h);
    c.push_back(sequence.last_c);
  }
  const auto set = [&](size_t output, const Value& made, const Integers& batch_first) {
    return node.set(output, sizes.batch_first ? transpose(made, batch_first) : made);
  };
  if (node.wants(0)) PANTOUM_TRY(set(0, side_by_side(node, ".directions", y, whole, 1), {2, 0, 1, 3}));
  if (node.wants(1)) PANTOUM_TRY(set(1, side_by_side(node, ".h", h, state, 0), {1, 0, 2}));
  if (node.wants(2) && c[0]) PANTOUM_TRY(set(2, side_by_side(node, ".c", c, state, 0), {1, 0, 2}));
  return {};
}

Result<void> lower(Node& node, const Sizes& sizes, bool biases_apart, bool has_cell_state, Cell cell) {
  PANTOUM_TRY(check_form(node, sizes));
  PANTOUM_ASSIGN(Directions directions, directions_of(node, sizes, biases_apart, has_cell_state));
  if (has_cell_state) PANTOUM_TRY(read_peepholes(node, sizes, directions));
  if (cell == gru_reset_first_step)
    for (Direction& direction : directions) part_candidate(direction);
  const Integers steps = steps_of_ops(sizes);
  const bool has_series = cell == lstm_step || cell == gru_step;  // several steps an op, or the steps as they are
  const bool in_series =
      node.lowering().recurrent_series && has_series && static_cast<int64_t>(steps.size()) < sizes.steps;
  const Value x = time_first(node, kX, sizes);
  PANTOUM_TRY(node.refusal());
  const Values inputs = in_series ? input_rows(x, sizes, steps) : inputs_of(x, sizes);
  std::vector<Sequence> sequences;
  for (const Direction& direction : directions)
    sequences.push_back(in_series ? run_in_series(node, sizes, inputs, steps, direction)
                                  : unroll(node, inputs, direction, cell));
  return set_outputs(node, sizes, sequences);
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
constexpr OperatorEntry kRecurrentOperators[] = {
    {"LSTM", lower_lstm, "split transpose add matmul lstm_sequence lstm_cell sigmoid tanh mul concat", kSeriesForms},
    {"GRU", lower_gru, "split transpose add matmul gru_sequence gru_cell sigmoid tanh mul sub concat", kSeriesForms},
    {"RNN", lower_rnn, "split transpose matmul add tanh relu concat", kForms}};

}  // namespace

constinit const Family recurrent_operators = kRecurrentOperators;

}  // namespace pantoum::import
