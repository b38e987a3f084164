// Substitutions that take an op which only moves elements from before a pointwise op to behind it: one of them is left, and it
// meets others that it merges with.
#include "rewrite/edit.h"
#include "rewrite/rule.h"

namespace pantoum::rewrite {
namespace {

// The inputs of a pointwise op that have its output's shape, all made by ops of `kind` that are equal by
// `same(first, other)`; nothing where one is not.
template <class Same>
std::optional<std::vector<size_t>> full_inputs_by(const Graph& graph, const Op& op, Kind kind, Same same) {
  // Most ops fail here: no input is made so.
  bool any = false;
  for (const ValueId input : op.inputs) any = any || maker_of(graph, input, kind) != nullptr;
  if (!any || !is_pointwise(op)) return std::nullopt;
  const auto full = full_inputs(graph, op);
  if (!full) return std::nullopt;
  const Op* first = maker_of(graph, op.inputs[full->front()], kind);
  for (const size_t input : *full) {
    const Op* other = maker_of(graph, op.inputs[input], kind);
    if (first == nullptr || other == nullptr || !same(*first, *other)) return std::nullopt;
  }
  return full;
}

// The op on what the makers of its full inputs read, for an output of that shape; single numbers stay.
ValueId before_makers(Edit& edit, const Graph& graph, const Op& op, const std::vector<size_t>& full,
                      const Shape& shape) {
  std::vector<ValueId> inputs = op.inputs;
  for (const size_t input : full) inputs[input] = maker_of(graph, inputs[input])->inputs[0];
  return edit.again(op, std::move(inputs), shape);
}

// The splits whose pieces the op reads at its full inputs, where it reads their first pieces.
std::optional<std::vector<const Op*>> splits_of(const Graph& graph, const Op& op, const std::vector<size_t>& full) {
  std::vector<const Op*> splits;
  for (const size_t input : full) {
    splits.push_back(maker_of(graph, op.inputs[input]));
    if (splits.back()->outputs[0] != op.inputs[input]) return std::nullopt;
  }
  return splits;
}

// The op's like that reads another piece of the same splits.
const Op* like_on_piece(const Graph& graph, const Op& op, const std::vector<size_t>& full,
                        const std::vector<const Op*>& splits, size_t piece) {
  std::vector<ValueId> inputs = op.inputs;
  for (size_t at = 0; at < full.size(); ++at) inputs[full[at]] = splits[at]->outputs[piece];
  for (const OpId reader : readers_of(graph, inputs[full[0]])) {
    const Op& other = graph.op(reader);
    if (other.kind == op.kind && other.attrs == op.attrs && other.inputs == inputs && is_pointwise(other) &&
        graph.value(other.outputs[0]).type.dtype == graph.value(op.outputs[0]).type.dtype)
      return &other;
  }
  return nullptr;
}

}  // namespace

// f(T x, T y) = T f(x, y) where f works element by element: the same numbers go through f, at other places.
//   where    every input of f that is no single number is a transpose by the same permutation
//   not      broadcast operands; dropout, whose draws go by place
std::optional<Graph> sink_transpose(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  const auto full =
      full_inputs_by(graph, op, Kind::k_transpose, [](const Op& a, const Op& b) { return a.attrs == b.attrs; });
  if (!full) return std::nullopt;
  const Op& transpose = *maker_of(graph, op.inputs[full->front()]);
  const Shape before = graph.value(transpose.inputs[0]).type.shape;
  Edit edit(graph, at);
  const ValueId y = before_makers(edit, graph, op, *full, before);
  edit.replace(op.outputs[0], edit.op(Kind::k_transpose, op.name + ".transpose", {y}, transpose.attrs));
  return edit.done();
}

// f(view x, view y) = view f(x, y) where f works element by element and the views are of one shape and give one shape:
// element e stays element e.
//   where    every input of f that is no single number is such a view
//   not      broadcast operands; views of different shapes
std::optional<Graph> sink_reshape(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  const auto shape_before = [&](const Op& view) -> const Shape& { return graph.value(view.inputs[0]).type.shape; };
  const auto full = full_inputs_by(graph, op, Kind::k_alias,
                                   [&](const Op& a, const Op& b) { return shape_before(a) == shape_before(b); });
  if (!full) return std::nullopt;
  const Shape before = shape_before(*maker_of(graph, op.inputs[full->front()]));
  if (before == graph.value(op.outputs[0]).type.shape) return std::nullopt;
  Edit edit(graph, at);
  const ValueId y = before_makers(edit, graph, op, *full, before);
  edit.replace(op.outputs[0], edit.reshape(op.name + ".reshape", y, edit.type(op.outputs[0]).shape));
  return edit.done();
}

// f of every piece of a split = the pieces of f, where f works element by element.
//   where    every piece is read by an op of one kind with the same attributes and single numbers, and where f has several
//            full inputs, they are the same pieces of splits alike
//   not      a piece that another op alone reads, or no op; broadcast operands
std::optional<Graph> sink_split(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  const auto full = full_inputs_by(graph, op, Kind::k_split, [&](const Op& a, const Op& b) {
    if (a.attrs != b.attrs || a.outputs.size() != b.outputs.size()) return false;
    for (size_t piece = 0; piece < a.outputs.size(); ++piece)
      if (graph.value(a.outputs[piece]).type.shape != graph.value(b.outputs[piece]).type.shape) return false;
    return true;
  });
  if (!full) return std::nullopt;
  const auto splits = splits_of(graph, op, *full);
  if (!splits || splits->front()->outputs.size() < 2) return std::nullopt;
  std::vector<const Op*> ops{&op};
  for (size_t piece = 1; piece < splits->front()->outputs.size(); ++piece) {
    ops.push_back(like_on_piece(graph, op, *full, *splits, piece));
    if (ops.back() == nullptr) return std::nullopt;
  }
  Edit edit(graph, at);
  const ValueId y = before_makers(edit, graph, op, *full, edit.type(splits->front()->inputs[0]).shape);
  std::vector<TensorType> types;
  types.reserve(ops.size());
  for (const Op* each : ops) types.push_back(edit.type(each->outputs[0]));
  const auto pieces = edit.add(Kind::k_split, op.name + ".split", {y}, splits->front()->attrs, types);
  for (size_t piece = 0; piece < ops.size() && piece < pieces.size(); ++piece)
    edit.replace(ops[piece]->outputs[0], pieces[piece]);
  return edit.done();
}

}  // namespace pantoum::rewrite
