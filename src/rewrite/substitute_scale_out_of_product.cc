// (a A) B = a (A B): the product is scaled in place of the factor, where it has fewer elements.
//   tolerance  the sum is rounded where the factor was
//   where      a factor is a scale without b or a neg, which nobody else reads; no bias
//   not        scalings that would leave float32's range (|a| beyond 1e10 or 1e-10)
//   inverse    scale-into-product, where the factor has fewer elements than the output: never both
#include <cmath>

#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

bool scales_alone(const ir::Op& op) {
  if (op.kind == Kind::k_neg) return is_ordinary(op);
  if (op.kind != Kind::k_scale || !is_ordinary(op)) return false;
  const double size = std::abs(op.attrs.reals[0]);
  return op.attrs.reals[1] == 0 && size <= 1e10 && size >= 1e-10;
}

std::optional<ir::Graph> scale_out_of_product(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (!is_bilinear(op) || op.inputs.size() != 2) return std::nullopt;
  const ir::TensorType type = graph.value(op.outputs[0]).type;
  for (const size_t factor : {size_t{0}, size_t{1}}) {
    const ir::Op* scale = maker_of(graph, op.inputs[factor]);
    if (scale == nullptr || !scales_alone(*scale)) continue;
    if (type.elements() >= graph.value(op.inputs[factor]).type.elements()) continue;
    if (!is_read_by_one(graph, op.inputs[factor])) continue;
    Edit edit(graph, at);
    std::vector<ir::ValueId> inputs = op.inputs;
    inputs[factor] = scale->inputs[0];
    const ir::ValueId product = edit.op(op.kind, op.name, std::move(inputs), op.attrs, {type});
    edit.replace(op.outputs[0], edit.again(*scale, {product}, type.shape));
    return edit.done();
  }
  return std::nullopt;
}

}  // namespace

const Rule kScaleOutOfProduct{
    "scale-out-of-product", "a scaling of a factor is done on a smaller product", Preserves::kValues, 1e-5, false,
    scale_out_of_product};

}  // namespace pantoum::rewrite
