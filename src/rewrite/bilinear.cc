#include "rewrite/bilinear.h"

#include <algorithm>
#include <unordered_set>

namespace pantoum::rewrite {
namespace {

using ir::Graph;
using ir::Kind;
using ir::Op;
using ir::OpId;
using ir::ValueId;

enum class BilinearForm { kNone, kMatrices, kForward, kInput, kWeight };

BilinearForm bilinear_form(const Op& op) {
  switch (op.kind) {
    case Kind::k_matmul:
      return BilinearForm::kMatrices;
    case Kind::k_conv2d:
    case Kind::k_conv3d:
      return BilinearForm::kForward;
    case Kind::k_conv2d_dx:
    case Kind::k_conv3d_dx:
      return BilinearForm::kInput;
    case Kind::k_conv2d_dw:
    case Kind::k_conv3d_dw:
      return BilinearForm::kWeight;
    default:
      return BilinearForm::kNone;
  }
}

// A's m and B's n, or where both have k: a factor's last dimension, or the one before it.
size_t dimension(const Graph& graph, const Op& op, size_t factor, bool last) {
  const size_t rank = graph.value(op.inputs[factor]).type.shape.size();
  return rank - (last != (op.attrs.ints[factor] != 0) ? 1 : 2);
}

// Biases of two that are to be one: along what the output is joined by they are joined too, else they are the same.
bool biases_fit(const Op& a, const Op& b, size_t shared) {
  return a.inputs.size() == b.inputs.size() && (a.inputs.size() == 2 || shared == 0 || a.inputs[2] == b.inputs[2]);
}

bool fit_together(const Graph& graph, const Op& a, const Op& b, size_t shared, size_t axis) {
  return a.kind == b.kind && a.inputs[shared] == b.inputs[shared] && a.inputs[1 - shared] != b.inputs[1 - shared] &&
         a.attrs == b.attrs && is_ordinary(b) && biases_fit(a, b, shared) &&
         differ_along(graph.value(a.inputs[1 - shared]).type, graph.value(b.inputs[1 - shared]).type, axis);
}

// The first op behind `at` that fits beside it and does not wait for it.
const Op* partner_of(const Graph& graph, OpId at, size_t shared, size_t axis) {
  const Op& op = graph.op(at);
  const auto fits = [&](const Op& other) {
    return other.kind == op.kind && fit_together(graph, op, other, shared, axis);
  };
  const auto behind = graph.ops.begin() + at + 1;
  auto first = std::find_if(behind, graph.ops.end(), fits);
  if (first == graph.ops.end()) return nullptr;
  std::unordered_set<ValueId> waiting(op.outputs.begin(), op.outputs.end());
  for (auto other = behind; other != graph.ops.end(); ++other) {
    const bool waits = std::any_of(other->inputs.begin(), other->inputs.end(),
                                   [&](ValueId input) { return waiting.count(input) != 0; });
    if (waits) {
      waiting.insert(other->outputs.begin(), other->outputs.end());
    } else if (other >= first && fits(*other)) {
      return &*other;
    }
  }
  return nullptr;
}

}  // namespace

bool is_bilinear(const Op& op) {
  const BilinearForm form = bilinear_form(op);
  return form != BilinearForm::kNone && (form == BilinearForm::kMatrices || op.attrs.ints.back() == 1) &&
         is_ordinary(op);
}

bool is_convolution(const Op& op) {
  return bilinear_form(op) == BilinearForm::kForward;
}

Axes merge_axes(const Graph& graph, const Op& op, size_t shared) {
  switch (bilinear_form(op)) {
    case BilinearForm::kForward:  // X W -> Y
      return shared == 0 ? Axes{0, 1} : Axes{0, 0};
    case BilinearForm::kInput:  // dY W -> dX
      return shared == 0 ? Axes{1, 1} : Axes{0, 0};
    case BilinearForm::kWeight:  // X dY -> dW
      return shared == 0 ? Axes{1, 0} : Axes{1, 1};
    default: {
      const size_t rank = graph.value(op.outputs[0]).type.shape.size();
      return shared == 0 ? Axes{dimension(graph, op, 1, true), rank - 1}
                         : Axes{dimension(graph, op, 0, false), rank - 2};
    }
  }
}

Axes sum_axes(const Graph& graph, const Op& op) {
  switch (bilinear_form(op)) {
    case BilinearForm::kForward:
      return {1, 1};
    case BilinearForm::kInput:
      return {1, 0};
    case BilinearForm::kWeight:
      return {0, 0};
    default:
      return {dimension(graph, op, 0, true), dimension(graph, op, 1, false)};
  }
}

std::optional<Graph> merge_sharing(const Graph& graph, OpId at, size_t shared) {
  const Op& op = graph.op(at);
  const Axes axes = merge_axes(graph, op, shared);
  const Op* other = partner_of(graph, at, shared, axes.first);
  if (other == nullptr) return std::nullopt;
  const std::string name = op.name + "+" + other->name;
  Edit edit(graph, at);
  std::vector<ValueId> inputs = op.inputs;
  inputs[1 - shared] = edit.concat(name + ".joined", {op.inputs[1 - shared], other->inputs[1 - shared]}, axes.first);
  if (inputs.size() == 3 && shared == 0) inputs[2] = edit.concat(name + ".bias", {op.inputs[2], other->inputs[2]}, 0);
  ir::TensorType type = edit.type(op.outputs[0]);
  type.shape[axes.second] += edit.type(other->outputs[0]).shape[axes.second];
  const ValueId both = edit.op(op.kind, name, std::move(inputs), op.attrs, {type});
  edit.replace_by_pieces(name + ".split", {op.outputs[0], other->outputs[0]}, both, axes.second);
  return edit.done();
}

const Op* bilinear_maker(const Graph& graph, ValueId value) {
  const Op* op = maker_of(graph, value);
  const bool fits = op != nullptr && is_bilinear(*op) && op->inputs.size() == 2 && is_read_by_one(graph, value);
  return fits ? op : nullptr;
}

}  // namespace pantoum::rewrite
