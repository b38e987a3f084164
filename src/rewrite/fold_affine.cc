#include "rewrite/fold_affine.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;
using ir::ValueId;

bool is_channelwise(const ir::Op& op) {
  return op.kind == Kind::k_matmul || op.kind == Kind::k_conv2d || op.kind == Kind::k_conv3d;
}

// The shape in which a vector over the channels broadcasts against the weight.
ir::Shape beside_weight(const ir::Op& product, const ir::Shape& weight, int64_t channels) {
  ir::Shape shape(weight.size(), 1);
  const bool rows = product.kind != Kind::k_matmul || product.attrs.ints[1] != 0;
  shape[rows ? (product.kind == Kind::k_matmul ? weight.size() - 2 : 0) : weight.size() - 1] = channels;
  return shape;
}

}  // namespace

const ir::Op* fixed_product(const ir::Graph& graph, ValueId value) {
  const ir::Op* op = maker_of(graph, value);
  if (op == nullptr || !is_channelwise(*op) || !is_ordinary(*op)) return nullptr;
  for (size_t input = 1; input < op->inputs.size(); ++input)
    if (!is_constant(graph, op->inputs[input], true)) return nullptr;
  return is_read_by_one(graph, value) ? op : nullptr;
}

int64_t channels_of(const ir::Graph& graph, const ir::Op& product) {
  const ir::Shape& shape = graph.value(product.outputs[0]).type.shape;
  return product.kind == Kind::k_matmul ? shape.back() : shape[1];
}

ValueId with_affine(Edit& edit, const ir::Op& product, const ChannelAffine& affine) {
  const std::string& name = product.name;
  std::vector<ValueId> inputs = product.inputs;
  const int64_t channels = channels_of(edit.graph(), product);
  if (affine.factor != ir::kNone) {
    const ir::Shape shape = beside_weight(product, edit.type(inputs[1]).shape, channels);
    const ValueId factor = edit.reshape(name + ".factor", affine.factor, shape);
    inputs[1] = edit.op(Kind::k_mul, name + ".weight", {inputs[1], factor}, {});
    if (inputs.size() == 3) inputs[2] = edit.op(Kind::k_mul, name + ".bias", {inputs[2], affine.factor}, {});
  }
  if (affine.shift != ir::kNone && inputs.size() == 3) {
    inputs[2] = edit.op(Kind::k_add, name + ".shifted", {inputs[2], affine.shift}, {});
  } else if (affine.shift != ir::kNone) {
    inputs.push_back(affine.shift);
  }
  return edit.op(product.kind, name, std::move(inputs), product.attrs);
}

}  // namespace pantoum::rewrite
