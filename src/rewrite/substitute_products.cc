// Products that read or make a matrix the other way round, and products with a bias.
#include "rewrite/edit.h"
#include "rewrite/rule.h"

namespace pantoum::rewrite {

namespace {

bool swaps_last_two(const std::vector<int64_t>& perm) {
  for (size_t d = 0; d < perm.size(); ++d) {
    const size_t from = d + 2 < perm.size() ? d : 2 * perm.size() - 3 - d;
    if (perm[d] != static_cast<int64_t>(from)) return false;
  }
  return perm.size() >= 2;
}

// Is what is added one number for each channel, as the addition broadcasts it?
bool is_over_channels(const Shape& added, const Shape& image) {
  if (added.size() + 1 < image.size() || added.size() > image.size()) return false;
  const size_t channel = added.size() + 1 - image.size();  // 0 or 1
  for (size_t d = 0; d < added.size(); ++d)
    if (added[d] != (d == channel ? image[1] : 1)) return false;
  return true;
}

}  // namespace

// A product reads its factors either way round: a transpose of the last two dimensions before it is a flag.
//   tolerance  the portable kernels give the same bits; those of a back end may add up in another order
//   where      a factor is a transpose that swaps the last two dimensions and leaves the others
//   not        transposes of other dimensions
std::optional<Graph> transpose_into_product(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  if (op.kind != Kind::k_matmul || !is_ordinary(op)) return std::nullopt;
  std::vector<ValueId> inputs = op.inputs;
  Attrs attrs = op.attrs;
  for (const size_t factor : {size_t{0}, size_t{1}}) {
    const Op* transpose = maker_of(graph, inputs[factor], Kind::k_transpose);
    if (transpose == nullptr || !swaps_last_two(transpose->attrs.ints)) continue;
    inputs[factor] = transpose->inputs[0];
    attrs.ints[factor] = attrs.ints[factor] == 0 ? 1 : 0;
  }
  if (inputs == op.inputs) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], edit.op(Kind::k_matmul, op.name, std::move(inputs), attrs));
  return edit.done();
}

// (A B)' = B' A': the product makes the transposed matrix at once.
//   tolerance  the same terms, which a kernel may add up in another order
//   where      a transpose of the last two dimensions that alone reads a product without a bias
//   not        products with a bias, which is one of columns
std::optional<Graph> transpose_of_product(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  if (op.kind != Kind::k_transpose || !is_ordinary(op) || !swaps_last_two(op.attrs.ints)) return std::nullopt;
  const Op* product = maker_of(graph, op.inputs[0], Kind::k_matmul);
  if (product == nullptr || product->inputs.size() != 2 || !is_read_by_one(graph, op.inputs[0])) return std::nullopt;
  const auto flag = [&](size_t factor) { return int64_t{product->attrs.ints[factor] == 0 ? 1 : 0}; };
  Edit edit(graph, at);
  edit.replace(op.outputs[0], edit.op(Kind::k_matmul, product->name, {product->inputs[1], product->inputs[0]},
                                      {{flag(1), flag(0)}, {}}));
  return edit.done();
}

// A B + c with a vector over the columns, conv(X, W) + c with one over the channels: the op adds it itself.
//   tolerance  a kernel may begin its sum with the bias
//   where      the addition alone reads the product, which has no bias yet and the sum's type; of convolutions the vector has
//              the extents [C, 1, ..], perhaps behind 1s
//   not        vectors along other dimensions; gradients of convolutions, which take no bias
std::optional<Graph> fold_bias(const Graph& graph, OpId at) {
  const Op& op = graph.op(at);
  if (op.kind != Kind::k_add || !is_ordinary(op)) return std::nullopt;
  const TensorType& type = graph.value(op.outputs[0]).type;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Op* product = maker_of(graph, op.inputs[side]);
    if (product == nullptr || product->inputs.size() != 2 || !is_ordinary(*product)) continue;
    if (graph.value(op.inputs[side]).type != type) continue;
    const Shape& added = graph.value(op.inputs[1 - side]).type.shape;
    const bool is_convolution = product->kind == Kind::k_conv2d || product->kind == Kind::k_conv3d;
    const bool fits = product->kind == Kind::k_matmul ? added == Shape{type.shape.back()}
                                                      : is_convolution && is_over_channels(added, type.shape);
    if (!fits || !is_read_by_one(graph, op.inputs[side])) continue;
    Edit edit(graph, at);
    std::vector<ValueId> inputs = product->inputs;
    inputs.push_back(edit.reshape(op.name + ".bias", op.inputs[1 - side],
                                  {product->kind == Kind::k_matmul ? type.shape.back() : type.shape[1]}));
    edit.replace(op.outputs[0], edit.op(product->kind, product->name, std::move(inputs), product->attrs));
    return edit.done();
  }
  return std::nullopt;
}

}  // namespace pantoum::rewrite
