#include "rewrite/accumulate.h"

#include <utility>

namespace pantoum::rewrite {
namespace {

// Both products of a sum, where they may be one; the one with the bias first.
std::optional<std::pair<const ir::Op*, const ir::Op*>> accumulated_terms(const ir::Graph& graph, const ir::Op& add) {
  const ir::Op *a = maker_of(graph, add.inputs[0]), *b = maker_of(graph, add.inputs[1]);
  if (a == nullptr || b == nullptr || a == b || a->kind != b->kind || !is_bilinear(*a) || !is_bilinear(*b) ||
      a->attrs != b->attrs || a->inputs.size() + b->inputs.size() > 5)
    return std::nullopt;
  const Axes axes = sum_axes(graph, *a);
  const auto fit = [&](size_t input, size_t axis) {
    return differ_along(graph.value(a->inputs[input]).type, graph.value(b->inputs[input]).type, axis);
  };
  const ir::TensorType& type = graph.value(add.outputs[0]).type;
  for (const ir::ValueId term : add.inputs)
    if (graph.value(term).type != type || !is_read_by_one(graph, term)) return std::nullopt;
  if (!fit(0, axes.first) || !fit(1, axes.second)) return std::nullopt;
  if (b->inputs.size() == 3) std::swap(a, b);
  return std::pair{a, b};
}

}  // namespace

std::optional<ir::Graph> accumulate(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const auto terms = accumulated_terms(graph, op);
  if (!terms) return std::nullopt;
  const auto& [a, b] = *terms;
  const Axes axes = sum_axes(graph, *a);
  const std::string name = a->name + "+" + b->name;
  Edit edit(graph, at);
  std::vector<ir::ValueId> inputs = a->inputs;
  inputs[0] = edit.concat(name + ".first", {a->inputs[0], b->inputs[0]}, axes.first);
  inputs[1] = edit.concat(name + ".second", {a->inputs[1], b->inputs[1]}, axes.second);
  edit.replace(op.outputs[0], edit.op(a->kind, name, std::move(inputs), a->attrs, {edit.type(op.outputs[0])}));
  return edit.done();
}

}  // namespace pantoum::rewrite
