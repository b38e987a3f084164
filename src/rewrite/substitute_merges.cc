// Substitutions that leave fewer ops: what is computed twice, and two ops whose work one does.
#include <algorithm>
#include <cmath>

#include "rewrite/edit.h"
#include "rewrite/rule.h"

namespace pantoum::rewrite {

namespace {

// a x + b, of every element.
struct Affine {
  double a = 1, b = 0;
};
std::optional<Affine> affine_of(const Op& op) {
  if (op.kind == Kind::k_scale) return Affine{op.attrs.reals[0], op.attrs.reals[1]};
  if (op.kind == Kind::k_neg) return Affine{-1, 0};
  if (op.kind == Kind::k_expand) return Affine{op.attrs.reals[0], 0};
  return std::nullopt;
}

bool in_range(double value) {
  return value == 0 || (std::abs(value) < 1e30 && std::abs(value) > 1e-30);
}

// The input that the op adds zero to, or scales by 1.
std::optional<size_t> term_beside_zero(const Graph& graph, const Op& op) {
  if (op.kind == Kind::k_scale)
    return op.attrs.reals[0] == 1 && op.attrs.reals[1] == 0 ? std::optional<size_t>(0) : std::nullopt;
  if (op.kind != Kind::k_add && op.kind != Kind::k_sub) return std::nullopt;
  for (const size_t input : {size_t{0}, size_t{1}}) {
    if (input == 1 && op.kind == Kind::k_sub) continue;
    if (uniform_constant(graph, op.inputs[1 - input]) == 0.0) return input;
  }
  return std::nullopt;
}

}  // namespace

// Common subexpressions: two ops of one kind with the same inputs, attributes and output types run the same kernel on the
// same bytes, so that readers of the later one may read the earlier one.
//   where    an op and an earlier equal one, both ordinary
//   not      effects (updates, running statistics), draws at random (dropout and random, though equal keys draw alike), ops
//            from outside the project, ops with alternatives; inputs in another order (a + b and b + a)
//   note     the earlier output lives longer; a planner may still compute it again, and the search weighs that
std::optional<Graph> merge_equal_ops(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  if (!is_ordinary(op)) return std::nullopt;
  OpId first = 0;  // behind everything it reads
  for (const ValueId input : op.inputs) first = std::max(first, graph.value(input).producer + 1);
  for (OpId other = at; other-- > first;) {
    const Op& earlier = graph.op(other);
    if (earlier.kind != op.kind || earlier.inputs != op.inputs || earlier.attrs != op.attrs || !is_ordinary(earlier) ||
        ir::types_of(graph, op.outputs) != ir::types_of(graph, earlier.outputs))
      continue;
    Edit edit(graph, at);
    for (size_t output = 0; output < op.outputs.size(); ++output)
      edit.replace(op.outputs[output], earlier.outputs[output]);
    return edit.done();
  }
  return std::nullopt;
}

// Two transposes are one: dimension d of the last is dimension q[d] of the middle, which is dimension p[q[d]] of the first.
// Elements move and none is changed.
//   where    a transpose of a transpose; the inner one may have other readers
//   not      transposes with an op between them (sink-transpose brings them together)
std::optional<Graph> merge_transposes(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  if (op.kind != Kind::k_transpose || !is_ordinary(op)) return std::nullopt;
  const Op* inner = maker_of(graph, op.inputs[0], Kind::k_transpose);
  if (inner == nullptr) return std::nullopt;
  std::vector<int64_t> perm;
  bool moves = false;
  for (const int64_t middle : op.attrs.ints) {
    perm.push_back(inner->attrs.ints[static_cast<size_t>(middle)]);
    moves = moves || perm.back() != static_cast<int64_t>(perm.size()) - 1;
  }
  Edit edit(graph, at);
  edit.replace(op.outputs[0],
               moves ? edit.op(Kind::k_transpose, op.name, {inner->inputs[0]}, {perm, {}}) : inner->inputs[0]);
  return edit.done();
}

// A view of a view is a view: the same bytes under the last shape.
//   where    an alias of an alias; one to the shape of the first input is none at all
//   not      the mark that stops gradients is dropped: autodiff has been there, and inference has none
std::optional<Graph> merge_reshapes(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  if (op.kind != Kind::k_alias || !is_ordinary(op)) return std::nullopt;
  const Op* inner = maker_of(graph, op.inputs[0], Kind::k_alias);
  if (inner == nullptr) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], edit.reshape(op.name, inner->inputs[0], edit.type(op.outputs[0]).shape));
  return edit.done();
}

// a2 (a1 x + b1) + b2 = (a2 a1) x + (a2 b1 + b2), the coefficients in double; -x is scale by -1 and 0; expand scales too.
//   tolerance  of two roundings one is saved: 3 roundings of the largest term
//   where      scale or neg of scale or neg, scale or expand of scale without b; the inner one may have other readers
//   not        coefficients that leave float32's range when multiplied
std::optional<Graph> merge_scales(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  const auto outer = affine_of(op);
  if (!outer || !is_ordinary(op)) return std::nullopt;
  const Op* made = maker_of(graph, op.inputs[0]);
  if (made == nullptr || !is_ordinary(*made)) return std::nullopt;
  const bool spreads = op.kind == Kind::k_expand, spread_before = made->kind == Kind::k_expand;
  const auto inner = affine_of(*made);
  if (!inner || !ir::is_float(graph.value(op.outputs[0]).type.dtype)) return std::nullopt;
  const Affine both{outer->a * inner->a, outer->a * inner->b + outer->b};
  if (((spreads || spread_before) && both.b != 0) || !in_range(both.a) || !in_range(both.b)) return std::nullopt;
  if (spreads && spread_before && outer->a == 1 && inner->a == 1) return std::nullopt;
  Edit edit(graph, at);
  const TensorType type = edit.type(op.outputs[0]);
  const ValueId x = made->inputs[0];
  edit.replace(op.outputs[0], spreads || spread_before ? edit.op(Kind::k_expand, op.name, {x}, {{}, {both.a}}, {type})
                                                       : edit.op(Kind::k_scale, op.name, {x}, {{}, {both.a, both.b}}));
  return edit.done();
}

// x + 0, x - -0 and scale by 1 and 0 are x but for the sign of a zero: -0 + 0 is 0.
//   tolerance  one rounding, of which none happens; what divides by the zero behind it sees the other infinity
//   where      the type stays, so that no broadcast hides in it
//   not        broadcast terms
std::optional<Graph> drop_zero_terms(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  const auto input = term_beside_zero(graph, op);
  if (!input || !is_ordinary(op)) return std::nullopt;
  if (graph.value(op.inputs[*input]).type != graph.value(op.outputs[0]).type) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], op.inputs[*input]);
  return edit.done();
}

}  // namespace pantoum::rewrite
