// LSTM, GRU and RNN, unrolled over time: for each step a product with its input, one with the state, and a cell.
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
  const Sizes sizes{gates, x[0], x[1], x[2], r[2], both ? 2 : 1};
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
  if (node.attributes().integer("layout", 0) != 0)
    return unsupported("its layout is 1", "export it with layout 0 (time first) and a Transpose");
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
    PANTOUM_TRY(want_shape(node, input, {sizes.directions, sizes.batch, sizes.hidden}, "initial state"));
    PANTOUM_ASSIGN(const ValueId id, node.real(input));
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

// The input of every time step, [N, I]: what it was concatenated from (the layer below), or a piece.
Result<std::vector<ValueId>> inputs_of(Node& node, const Sizes& sizes) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kX));
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

// Values joined along a dimension that each has with extent 1 in the shape `each`.
ValueId side_by_side(Node& node, const char* suffix, std::vector<ValueId> parts, const Shape& each, int64_t axis) {
  for (ValueId& part : parts) part = node.builder().reshape(part, each);
  return node.builder().concat(node.label() + suffix, std::move(parts), axis);
}

void set_outputs(Node& node, const Sizes& sizes, const std::vector<Sequence>& sequences) {
  const Shape step{1, 1, sizes.batch, sizes.hidden}, whole{sizes.steps, 1, sizes.batch, sizes.hidden};
  const Shape state{1, sizes.batch, sizes.hidden};
  std::vector<ValueId> y, h, c;
  for (const Sequence& sequence : sequences) {
    if (node.wants(0)) y.push_back(side_by_side(node, ".y", sequence.h, step, 0));
    h.push_back(sequence.last_h);
    c.push_back(sequence.last_c);
  }
  if (node.wants(0)) node.set(0, side_by_side(node, ".directions", y, whole, 1));
  if (node.wants(1)) node.set(1, side_by_side(node, ".h", h, state, 0));
  if (node.wants(2) && c[0] != ir::kNone) node.set(2, side_by_side(node, ".c", c, state, 0));
}

Result<void> lower(Node& node, const Sizes& sizes, bool biases_apart, bool has_cell_state, Cell cell) {
  PANTOUM_TRY(check_form(node, sizes));
  PANTOUM_ASSIGN(const std::vector<Direction> directions, directions_of(node, sizes, biases_apart, has_cell_state));
  PANTOUM_ASSIGN(const std::vector<ValueId> inputs, inputs_of(node, sizes));
  std::vector<Sequence> sequences;
  for (const Direction& direction : directions) {
    PANTOUM_ASSIGN(Sequence made, unroll(node, inputs, direction, cell));
    sequences.push_back(std::move(made));
  }
  set_outputs(node, sizes, sequences);
  return {};
}

Result<void> lower_lstm(Node& node) {
  PANTOUM_ASSIGN(const Sizes sizes, sizes_of(node, 4));
  PANTOUM_TRY(want_activations(node, sizes, {"sigmoid", "tanh", "tanh"}));
  if (node.has(kPeepholes)) return unsupported("it has peepholes", "use an LSTM without them");
  if (node.attributes().integer("input_forget", 0) != 0)
    return unsupported("it couples its input and forget gates", "use an LSTM with gates of their own");
  return lower(node, sizes, false, true, lstm_step);
}

Result<void> lower_gru(Node& node) {
  PANTOUM_ASSIGN(const Sizes sizes, sizes_of(node, 3));
  PANTOUM_TRY(want_activations(node, sizes, {"sigmoid", "tanh"}));
  if (node.attributes().integer("linear_before_reset", 0) == 0)
    return unsupported("it resets its state before the product", "use linear_before_reset=1, as PyTorch's GRU does");
  return lower(node, sizes, true, false, gru_step);
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
constexpr std::array kRecurrentOperators = {
    OperatorEntry{"LSTM", lower_lstm, "split add matmul lstm_cell concat", kForms},
    OperatorEntry{"GRU", lower_gru, "split add matmul gru_cell concat", kForms},
    OperatorEntry{"RNN", lower_rnn, "split matmul add tanh relu concat", kForms}};

}  // namespace

std::span<const OperatorEntry> recurrent_operators() {
  return kRecurrentOperators;
}

}  // namespace pantoum::import
