#include <array>
#include <optional>

#include "rewrite/edit.h"
#include "rewrite/passes.h"

namespace pantoum::rewrite {
namespace {

constexpr size_t kGates = 4;

// One time step as it is written out, read from the sum that is the cell's next state.
class WrittenCells {
 public:
  explicit WrittenCells(const Graph& graph) : graph_(graph), readers_(graph) {}

  struct Match {
    OpId next_state, output;      // the addition c' = f c + i g, the product o tanh(c')
    std::array<ValueId, 3> from;  // the products whose sum has the gates, and c
    std::vector<int64_t> blocks;  // of columns, of the gates i, o, f, g
  };

  std::optional<Match> at(OpId id) const {
    const Op& sum = graph_.op(id);
    if (sum.kind != Kind::k_add) return std::nullopt;
    for (const size_t written : {size_t{1}, size_t{0}}) {
      std::optional<Match> match = from_parts(sum, sum.inputs[written], sum.inputs[1 - written]);
      if (!match) continue;
      match->next_state = id;
      return match;
    }
    return std::nullopt;
  }

 private:
  // A gate behind its activation: the split that it is a part of, and which part. `split` kNone: no gate.
  struct Gate {
    OpId split = kNone;
    int64_t part = 0;
  };

  const Graph& graph_;
  Readers readers_;

  Gate gate_of(ValueId value, Kind activation) const {
    const Op* function = maker_of(graph_, value, activation);
    if (function == nullptr || readers_.only(value) == kNone) return {};
    const ValueId x = function->inputs[0];
    const Op* split = maker_of(graph_, x, Kind::k_split);
    if (split == nullptr || readers_.only(x) == kNone || split->outputs.size() != kGates) return {};
    const auto part = std::ranges::find(split->outputs, x) - split->outputs.begin();
    return {graph_.value(x).producer, part};
  }

  // A product, of which nobody else reads the result; null: none.
  const Op* lone_product(ValueId value) const {
    const Op* product = maker_of(graph_, value, Kind::k_mul);
    return product != nullptr && readers_.only(value) != kNone ? product : nullptr;
  }

  std::optional<Match> from_parts(const Op& sum, ValueId entering, ValueId kept) const {
    const Op *i_g = lone_product(entering), *f_c = lone_product(kept);
    if (i_g == nullptr || f_c == nullptr) return std::nullopt;
    for (const size_t i_at : {size_t{0}, size_t{1}})
      for (const size_t f_at : {size_t{0}, size_t{1}}) {
        const Gate i = gate_of(i_g->inputs[i_at], Kind::k_sigmoid), g = gate_of(i_g->inputs[1 - i_at], Kind::k_tanh),
                   f = gate_of(f_c->inputs[f_at], Kind::k_sigmoid);
        if (i.split == kNone || g.split != i.split || f.split != i.split) continue;
        if (auto match = with_output(sum.outputs[0], i, f, g, f_c->inputs[1 - f_at])) return match;
      }
    return std::nullopt;
  }

  std::optional<Match> with_output(ValueId next, Gate i, Gate f, Gate g, ValueId c) const {
    for (const OpId reader : readers_.of(next)) {
      const Op& function = graph_.op(reader);
      if (function.kind != Kind::k_tanh) continue;
      const OpId last = readers_.only(function.outputs[0]);
      if (last == kNone || graph_.op(last).kind != Kind::k_mul) continue;
      const std::vector<ValueId>& factors = graph_.op(last).inputs;
      const Gate o = gate_of(factors[factors[0] == function.outputs[0] ? 1 : 0], Kind::k_sigmoid);
      if (o.split != i.split) continue;
      auto match = with_products(i.split, next, c);
      if (match) match->output = last, match->blocks = {i.part, o.part, f.part, g.part};
      return match;
    }
    return std::nullopt;
  }

  // The split is of a sum's columns, into as many parts of the state's size.
  std::optional<Match> with_products(OpId split, ValueId next, ValueId c) const {
    const Op& parts = graph_.op(split);
    const ValueId gates = parts.inputs[0];
    const Op* sum = maker_of(graph_, gates, Kind::k_add);
    const TensorType &state = graph_.value(next).type, &wide = graph_.value(gates).type;
    if (sum == nullptr || readers_.only(gates) == kNone || state.shape.size() != 2 || graph_.value(c).type != state)
      return std::nullopt;
    for (const ValueId part : parts.outputs)
      if (graph_.value(part).type != state) return std::nullopt;
    for (const ValueId product : sum->inputs)
      if (graph_.value(product).type != wide) return std::nullopt;
    if (wide.shape[1] != static_cast<int64_t>(kGates) * state.shape[1]) return std::nullopt;
    return Match{.next_state = kNone, .output = kNone, .from = {sum->inputs[0], sum->inputs[1], c}, .blocks = {}};
  }
};

// The cell stands where its next state was made, which nothing of it is read before.
void replace(Graph& graph, const WrittenCells::Match& match) {
  Op& cell = graph.ops[position_of(match.next_state)];
  Op& output = graph.ops[position_of(match.output)];
  const ValueId h = output.outputs[0], next = cell.outputs[0];
  const auto unused = [&graph](const std::string& name, const TensorType& type, OpId producer) {
    Value value;
    value.name = name, value.type = type, value.producer = producer;
    graph.values.push_back(std::move(value));
    return static_cast<ValueId>(graph.values.size() - 1);
  };
  const ValueId gates =
      unused(cell.name + ".gates", graph.value(match.from[0]).type, static_cast<OpId>(match.next_state));
  output.outputs[0] = unused(output.name + ".written", graph.value(h).type, match.output);
  graph.value(h).producer = match.next_state;
  cell.kind = Kind::k_lstm_cell;
  cell.inputs.assign(match.from.begin(), match.from.end());
  cell.outputs = {h, next, gates};
  cell.attrs = {match.blocks, {}};
}

}  // namespace

Graph fuse_lstm_cell(Graph graph) {
  std::vector<WrittenCells::Match> matches;
  const WrittenCells cells(graph);
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (const auto match = cells.at(static_cast<OpId>(op))) matches.push_back(*match);
  for (const WrittenCells::Match& match : matches) replace(graph, match);
  ir::drop_dead_ops(graph);
  return graph;
}

}  // namespace pantoum::rewrite
