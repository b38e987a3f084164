// Ops whose output has the bits of an input: x * 1, x / 1, x - 0, x + -0 (x + 0 too of what is never -0: -0 + 0 is 0), scale
// by 1 and -0, casts to the same type, views of the same shape, transposes that move nothing, slices of all, joins of one,
// expands to the same shape, dropout of nothing.
//   where    the type stays, so that no broadcast hides in it; the constant's elements are all the same number
//   not      signalling NaNs, which arithmetic quiets (no op makes one); x + 0 of what may be -0 (drop-zero-terms)
#include <cmath>

#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

// Is every element of what the op makes another number than -0? By what its kernel computes last.
bool never_minus_zero(const ir::Op* op) {
  if (op == nullptr) return false;
  switch (op->kind) {
    case Kind::k_exp:
    case Kind::k_sigmoid:
    case Kind::k_softplus:
    case Kind::k_abs:
      return true;
    default:
      return false;
  }
}

bool is_exactly(std::optional<double> constant, double number) {
  return constant && *constant == number && std::signbit(*constant) == std::signbit(number);
}

// The input of a binary op that its output equals.
std::optional<size_t> same_as_operand(const ir::Graph& graph, const ir::Op& op) {
  const bool whole = !ir::is_float(graph.value(op.outputs[0]).type.dtype);
  for (const size_t input : {size_t{0}, size_t{1}}) {
    const auto constant = uniform_constant(graph, op.inputs[1 - input]);
    if (!constant) continue;
    const bool left = input == 0, unsigned_zero = whole || never_minus_zero(maker_of(graph, op.inputs[input]));
    const bool same = (op.kind == Kind::k_mul && *constant == 1) ||
                      (op.kind == Kind::k_div && left && *constant == 1) ||
                      (op.kind == Kind::k_sub && left && is_exactly(constant, 0.0)) ||
                      (op.kind == Kind::k_add && (is_exactly(constant, -0.0) || (unsigned_zero && *constant == 0)));
    if (same) return input;
  }
  return std::nullopt;
}

bool moves_nothing(const std::vector<int64_t>& perm) {
  for (size_t d = 0; d < perm.size(); ++d)
    if (perm[d] != static_cast<int64_t>(d)) return false;
  return true;
}

// Start 0, step 1 everywhere; an extent of 1 has no step.
bool takes_all(const ir::Op& op, const ir::Shape& shape) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (op.attrs.ints[2 * d] != 0 || (shape[d] > 1 && op.attrs.ints[2 * d + 1] != 1)) return false;
  return true;
}

bool scales_by_nothing(const ir::Graph& graph, const ir::Op& op) {
  const double a = op.attrs.reals[0], b = op.attrs.reals[1];
  return a == 1 && b == 0 && (std::signbit(b) || never_minus_zero(maker_of(graph, op.inputs[0])));
}

std::optional<size_t> same_as_input(const ir::Graph& graph, const ir::Op& op) {
  const auto when = [](bool same) { return same ? std::optional<size_t>(0) : std::nullopt; };
  switch (op.kind) {
    case Kind::k_mul:
    case Kind::k_div:
    case Kind::k_sub:
    case Kind::k_add:
      return same_as_operand(graph, op);
    case Kind::k_scale:
      return when(scales_by_nothing(graph, op));
    case Kind::k_cast:
    case Kind::k_alias:
      return 0;
    case Kind::k_concat:
    case Kind::k_split:
      return when(op.inputs.size() == 1 && op.outputs.size() == 1);
    case Kind::k_transpose:
      return when(moves_nothing(op.attrs.ints));
    case Kind::k_slice:
    case Kind::k_slice_grad:
      return when(takes_all(op, graph.value(op.outputs[0]).type.shape));
    case Kind::k_expand:
      return when(op.attrs.reals[0] == 1);
    case Kind::k_dropout:
      return when(op.attrs.reals[0] == 0);
    default:
      return std::nullopt;
  }
}

std::optional<ir::Graph> drop_identities(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const std::optional<size_t> input = same_as_input(graph, op);
  if (!input || !op.alternatives.empty()) return std::nullopt;
  if (graph.value(op.inputs[*input]).type != graph.value(op.outputs[0]).type) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], op.inputs[*input]);
  return edit.done();
}

}  // namespace

const Rule kDropIdentities{"drop-identities",
                           "ops that give what they get go (x * 1, views and casts to the same, slices of all)",
                           Preserves::kBits,
                           0,
                           false,
                           drop_identities};

}  // namespace pantoum::rewrite
