// concat(f(a, c), f(b, d)) = f(concat(a, b), concat(c, d)) where f works element by element.
// Whoever else reads a part (the gradient of f, often) gets it as a piece of what f makes.
//   where    every part is made by f with the same attributes and single numbers
//   not      parts of different ops; broadcast operands; a part that stands twice
//   inverse  sink-concat
#include <algorithm>

#include "rewrite/pointwise_moves.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

// Can the op be f, as the first part's is: the same but for its full inputs?
bool is_same_but_for_full(const ir::Op& f, const std::vector<size_t>& full, const ir::Op& op,
                          const std::vector<size_t>& op_full) {
  if (f.kind != op.kind || f.attrs != op.attrs || f.inputs.size() != op.inputs.size() || full != op_full) return false;
  for (size_t input = 0, next = 0; input < f.inputs.size(); ++input) {
    if (next < full.size() && full[next] == input) {
      ++next;
    } else if (f.inputs[input] != op.inputs[input]) {
      return false;
    }
  }
  return true;
}

std::optional<std::vector<PointwiseMaker>> makers_of_parts(const ir::Graph& graph, const ir::Op& joined) {
  std::vector<PointwiseMaker> makers;
  const ir::Op* first = maker_of(graph, joined.inputs[0]);
  if (first == nullptr) return std::nullopt;
  for (const ir::ValueId part : joined.inputs) {
    const ir::Op* other = maker_of(graph, part);
    if (other == nullptr || other->kind != first->kind) return std::nullopt;
  }
  for (const ir::ValueId part : joined.inputs) {
    const ir::Op* op = maker_of(graph, part);
    auto full = is_pointwise(*op) ? full_inputs(graph, *op) : std::nullopt;
    std::optional<PointwiseMaker> maker;
    if (full && std::count(joined.inputs.begin(), joined.inputs.end(), part) == 1)
      maker = PointwiseMaker{op, *std::move(full)};
    if (!maker || (!makers.empty() && !is_same_but_for_full(*makers[0].op, makers[0].full, *maker->op, maker->full)))
      return std::nullopt;
    makers.push_back(*std::move(maker));
  }
  return makers;
}

std::optional<ir::Graph> raise_concat(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_concat || op.inputs.size() < 2 || !is_ordinary(op)) return std::nullopt;
  const auto makers = makers_of_parts(graph, op);
  if (!makers) return std::nullopt;
  const ir::Op& f = *makers->front().op;
  Edit edit(graph, at);
  std::vector<ir::ValueId> inputs = f.inputs;
  for (const size_t input : makers->front().full) {
    std::vector<ir::ValueId> parts;
    for (const PointwiseMaker& maker : *makers) parts.push_back(maker.op->inputs[input]);
    inputs[input] = edit.op(Kind::k_concat, op.name, std::move(parts), op.attrs);
  }
  const ir::ValueId y = edit.again(f, std::move(inputs), edit.type(op.outputs[0]).shape);
  const bool alone =
      std::all_of(op.inputs.begin(), op.inputs.end(), [&](ir::ValueId part) { return is_read_by_one(graph, part); });
  if (!alone) {
    const auto pieces = edit.add(Kind::k_split, op.name + ".split", {y}, op.attrs, ir::types_of(graph, op.inputs));
    for (size_t part = 0; part < op.inputs.size() && part < pieces.size(); ++part)
      edit.replace(op.inputs[part], pieces[part]);
  }
  edit.replace(op.outputs[0], y);
  return edit.done();
}

}  // namespace

const Rule kRaiseConcat{
    "raise-concat", "the same pointwise op on all parts of a concat is done behind it", Preserves::kBits, 0, false,
    raise_concat};

}  // namespace pantoum::rewrite
