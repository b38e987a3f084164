// mean(x) = sum(x) / n: the sum, which other rules know, and one scaling of what is left.
//   tolerance  the division by n becomes a product with 1/n: two roundings, and what the kernels sum in another order
//   where      any mean; scaling and sum may then be merged with what is around them
//   not        the way back
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> mean_as_sum(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_reduce_mean || !is_ordinary(op)) return std::nullopt;
  const double count = static_cast<double>(graph.value(op.inputs[0]).type.elements()) /
                       static_cast<double>(graph.value(op.outputs[0]).type.elements());
  Edit edit(graph, at);
  const ir::ValueId sum = edit.op(Kind::k_reduce_sum, op.name + ".sum", {op.inputs[0]}, op.attrs);
  edit.replace(op.outputs[0], edit.op(Kind::k_scale, op.name, {sum}, {{}, {1 / count, 0}}));
  return edit.done();
}

}  // namespace

const Rule kMeanAsSum{"mean-as-sum", "a mean is a sum and a scaling of it", Preserves::kValues, 2e-6, false,
                      mean_as_sum};

}  // namespace pantoum::rewrite
