// x + 0, x - -0 and scale by 1 and 0 are x but for the sign of a zero: -0 + 0 is 0.
//   tolerance  one rounding, of which none happens; what divides by the zero behind it sees the other infinity
//   where      the type stays, so that no broadcast hides in it
//   not        x + -0 and what is never -0, which keep every bit (drop-identities)
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<size_t> term_beside_zero(const ir::Graph& graph, const ir::Op& op) {
  if (op.kind == Kind::k_scale)
    return op.attrs.reals[0] == 1 && op.attrs.reals[1] == 0 ? std::optional<size_t>(0) : std::nullopt;
  if (op.kind != Kind::k_add && op.kind != Kind::k_sub) return std::nullopt;
  for (const size_t input : {size_t{0}, size_t{1}}) {
    if (input == 1 && op.kind == Kind::k_sub) continue;
    if (uniform_constant(graph, op.inputs[1 - input]) == 0.0) return input;
  }
  return std::nullopt;
}

std::optional<ir::Graph> drop_zero_terms(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const auto input = term_beside_zero(graph, op);
  if (!input || !is_ordinary(op)) return std::nullopt;
  if (graph.value(op.inputs[*input]).type != graph.value(op.outputs[0]).type) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], op.inputs[*input]);
  return edit.done();
}

}  // namespace

const Rule kDropZeroTerms{"drop-zero-terms", "x + 0 is x, but for the sign of a zero", Preserves::kValues, 1e-7, false,
                          drop_zero_terms};

}  // namespace pantoum::rewrite
