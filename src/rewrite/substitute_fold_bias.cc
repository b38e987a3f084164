// A B + c with a vector over the columns, conv(X, W) + c with one over the channels: the op adds it itself.
//   tolerance  a kernel may begin its sum with the bias
//   where      the addition alone reads the product, which has no bias yet and the sum's type; of convolutions the vector has
//              the extents [C, 1, ..], perhaps behind 1s
//   not        vectors along other dimensions; gradients of convolutions, which take no bias
#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

// Is what is added one number for each channel, as the addition broadcasts it?
bool is_over_channels(const ir::Shape& added, const ir::Shape& image) {
  if (added.size() + 1 < image.size() || added.size() > image.size()) return false;
  const size_t channel = added.size() + 1 - image.size();  // 0 or 1
  for (size_t d = 0; d < added.size(); ++d)
    if (added[d] != (d == channel ? image[1] : 1)) return false;
  return true;
}

std::optional<ir::Graph> fold_bias(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_add || !is_ordinary(op)) return std::nullopt;
  const ir::TensorType& type = graph.value(op.outputs[0]).type;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const ir::Op* product = maker_of(graph, op.inputs[side]);
    if (product == nullptr || product->inputs.size() != 2 || !is_ordinary(*product)) continue;
    if (graph.value(op.inputs[side]).type != type) continue;
    const ir::Shape& added = graph.value(op.inputs[1 - side]).type.shape;
    const bool fits = product->kind == Kind::k_matmul ? added == ir::Shape{type.shape.back()}
                                                      : is_convolution(*product) && is_over_channels(added, type.shape);
    if (!fits || !is_read_by_one(graph, op.inputs[side])) continue;
    Edit edit(graph, at);
    std::vector<ir::ValueId> inputs = product->inputs;
    inputs.push_back(edit.reshape(op.name + ".bias", op.inputs[1 - side],
                                  {product->kind == Kind::k_matmul ? type.shape.back() : type.shape[1]}));
    edit.replace(op.outputs[0], edit.op(product->kind, product->name, std::move(inputs), product->attrs));
    return edit.done();
  }
  return std::nullopt;
}

}  // namespace

const Rule kFoldBias{
    "fold-bias", "a vector added to a product or convolution is its bias", Preserves::kValues, 1e-6, false, fold_bias};

}  // namespace pantoum::rewrite
