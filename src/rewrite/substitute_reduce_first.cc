// sum(a x) = a sum(x), mean(a x + b) = a mean(x) + b: fewer numbers are scaled.
//   tolerance  each term is rounded once less, the sum once more; the terms' magnitudes are the measure
//   where      a reduce_sum or reduce_mean that alone reads a scale or neg, and leaves fewer elements
//   not        sums of a x + b with b other than 0; integers
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> reduce_first(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const bool mean = op.kind == Kind::k_reduce_mean;
  if ((op.kind != Kind::k_reduce_sum && !mean) || !is_ordinary(op)) return std::nullopt;
  const ir::Op* made = maker_of(graph, op.inputs[0]);
  if (made == nullptr || (made->kind != Kind::k_scale && made->kind != Kind::k_neg) || !is_ordinary(*made))
    return std::nullopt;
  if (!mean && made->kind == Kind::k_scale && made->attrs.reals[1] != 0) return std::nullopt;
  const ir::TensorType type = graph.value(op.outputs[0]).type;
  if (!ir::is_float(type.dtype) || type.elements() >= graph.value(op.inputs[0]).type.elements() ||
      !is_read_by_one(graph, op.inputs[0]))
    return std::nullopt;
  Edit edit(graph, at);
  const ir::ValueId sum = edit.op(op.kind, op.name, {made->inputs[0]}, op.attrs);
  edit.replace(op.outputs[0], edit.again(*made, {sum}, type.shape));
  return edit.done();
}

}  // namespace

const Rule kReduceFirst{
    "reduce-first", "a scaling before a sum or mean is done behind it", Preserves::kValues, 2e-6, false, reduce_first};

}  // namespace pantoum::rewrite
