// What scales and shifts each channel behind a convolution or product of fixed weights becomes part of its weights and bias:
// scale, and mul, add and sub with a fixed number, or one for each channel.
//   tolerance  weights are rounded where the image was
//   where      it alone reads a conv2d, conv3d or product whose weight and bias are fixed, and changes no shape
//   not        numbers that differ within a channel; a fixed number minus the image; training
#include "rewrite/fold.h"
#include "rewrite/fold_affine.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

// The fixed operand as a vector over the channels; kNone: it is none.
ir::ValueId as_channels(Edit& edit, const ir::Op& product, ir::ValueId operand, const ir::Shape& image) {
  const ir::Shape shape = edit.type(operand).shape;
  const int64_t channels = channels_of(edit.graph(), product);
  const std::string name = product.name + ".channels";
  if (edit.type(operand).elements() == 1 && shape.size() <= image.size()) {
    const ir::ValueId number = edit.reshape(name, operand, {});
    return edit.op(Kind::k_expand, name, {number}, {{}, {1}}, {{edit.type(operand).dtype, {channels}}});
  }
  const size_t from_end = product.kind == Kind::k_matmul ? 1 : image.size() - 1;
  if (shape.size() < from_end || shape.size() > image.size()) return ir::kNone;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != (d == shape.size() - from_end ? channels : 1)) return ir::kNone;
  return edit.reshape(name, operand, {channels});
}

// What a mul, add or sub with a fixed operand does, if it is one.
std::optional<ChannelAffine> affine_of_operand(Edit& edit, const ir::Op& op, const ir::Op& product, size_t fixed) {
  const ir::ValueId operand = op.inputs[fixed];
  if (!is_constant(edit.graph(), operand, true)) return std::nullopt;
  const ir::ValueId vector = as_channels(edit, product, operand, edit.type(op.outputs[0]).shape);
  if (vector == ir::kNone) return std::nullopt;
  if (op.kind == Kind::k_mul) return ChannelAffine{vector, ir::kNone};
  if (op.kind == Kind::k_add) return ChannelAffine{ir::kNone, vector};
  return ChannelAffine{ir::kNone, edit.op(Kind::k_neg, op.name + ".shift", {vector}, {})};
}

// a and b of scale, as vectors over the channels.
ChannelAffine affine_of_scale(Edit& edit, const ir::Op& op, const ir::Op& product) {
  const int64_t channels = channels_of(edit.graph(), product);
  const ir::DType dtype = edit.type(op.outputs[0]).dtype;
  const auto vector = [&](const char* what, double number) {
    return edit.constant(op.name + what, {dtype, {channels}}, number);
  };
  const double a = op.attrs.reals[0], b = op.attrs.reals[1];
  return {a == 1 ? ir::kNone : vector(".factor", a), b == 0 ? ir::kNone : vector(".shift", b)};
}

std::optional<ir::Graph> fold_scale_shift(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const bool scales = op.kind == Kind::k_scale;
  if (!scales && op.kind != Kind::k_mul && op.kind != Kind::k_add && op.kind != Kind::k_sub) return std::nullopt;
  const ir::TensorType& type = graph.value(op.outputs[0]).type;
  for (size_t side = 0; side < (op.kind == Kind::k_sub ? 1 : op.inputs.size()); ++side) {
    const ir::Op* product = fixed_product(graph, op.inputs[side]);
    if (product == nullptr || graph.value(op.inputs[side]).type != type) continue;
    Edit edit(graph, at);
    const auto affine = scales ? affine_of_scale(edit, op, *product) : affine_of_operand(edit, op, *product, 1 - side);
    if (!affine) continue;
    edit.replace(op.outputs[0], with_affine(edit, *product, *affine));
    auto folded = edit.done();
    if (folded) fold_new_ops(*folded, static_cast<ir::ValueId>(graph.values.size()), true);
    return folded;
  }
  return std::nullopt;
}

}  // namespace

const Rule kFoldScaleShift{"fold-scale-shift",
                           "scalings and shifts of channels become part of the weights before them",
                           Preserves::kValues,
                           1e-5,
                           true,
                           fold_scale_shift};

}  // namespace pantoum::rewrite
