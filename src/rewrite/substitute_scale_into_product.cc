// a (A B) = (a A) B: the smaller factor is scaled in place of the product. Of products, convolutions and their gradients.
//   tolerance  the factor is rounded where the sum was
//   where      a scale without b, or a neg, that alone reads the product; no bias; a factor has fewer elements than the output
//   not        scalings that would leave float32's range (|a| beyond 1e10 or 1e-10)
//   inverse    scale-out-of-product, where the output has fewer elements than the factor: never both
#include <cmath>

#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

std::optional<ir::Graph> scale_into_product(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if ((op.kind != Kind::k_scale && op.kind != Kind::k_neg) || !is_ordinary(op)) return std::nullopt;
  if (op.kind == Kind::k_scale) {
    const double size = std::abs(op.attrs.reals[0]);
    if (op.attrs.reals[1] != 0 || size > 1e10 || size < 1e-10) return std::nullopt;
  }
  const ir::Op* product = bilinear_maker(graph, op.inputs[0]);
  if (product == nullptr) return std::nullopt;
  const auto elements = [&](ir::ValueId value) { return graph.value(value).type.elements(); };
  const size_t smaller = elements(product->inputs[1]) <= elements(product->inputs[0]) ? 1 : 0;
  if (elements(product->inputs[smaller]) >= elements(op.outputs[0])) return std::nullopt;
  Edit edit(graph, at);
  std::vector<ir::ValueId> inputs = product->inputs;
  inputs[smaller] = edit.again(op, {inputs[smaller]}, edit.type(inputs[smaller]).shape);
  edit.replace(op.outputs[0],
               edit.op(product->kind, product->name, std::move(inputs), product->attrs, {edit.type(op.outputs[0])}));
  return edit.done();
}

}  // namespace

const Rule kScaleIntoProduct{
    "scale-into-product", "a scaling behind a product is done on its smaller factor", Preserves::kValues, 1e-5, false,
    scale_into_product};

}  // namespace pantoum::rewrite
