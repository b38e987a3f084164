// conv2d and conv3d, and their gradients.
#include <algorithm>
#include <iterator>

#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

Pairs over_third(const OpTypes&) {
  return {{0, 2}};
}

// Two flops for every weight at every output position: all ops do the same multiply-adds.
OpCost conv_flops(const OpTypes& types, const TensorType& w, const TensorType& y) {
  const int64_t per_output = w.elements() / w.shape[0];
  return operand_bytes(types, 2.0 * static_cast<double>(y.elements()) * static_cast<double>(per_output));
}
OpCost conv_cost(const OpTypes& types) {
  return conv_flops(types, types.inputs[1], types.outputs[0]);
}
OpCost conv_dx_cost(const OpTypes& types) {
  return conv_flops(types, types.inputs[1], types.inputs[0]);
}
OpCost conv_dz_cost(const OpTypes& types) {
  OpCost cost = conv_dx_cost(types);
  const Attrs own{{types.attrs.ints[PT_CONV_DZ_FLAG]}, {}};
  const TensorType both[] = {types.outputs[0], types.outputs[0]};
  const auto gradient = static_cast<Kind>(types.attrs.ints[PT_CONV_DZ_GRADIENT]);
  cost.flops += op_def(gradient).cost({both, types.outputs, own}).flops;
  return cost;
}
OpCost conv_dw_cost(const OpTypes& types) {
  return conv_flops(types, types.outputs[0], types.inputs[1]);
}

// The three ops of a number of spatial dimensions.
struct ConvKinds {
  Kind forward, dx, dw;
};
constexpr ConvKinds kPlane{k_conv2d, k_conv2d_dx, k_conv2d_dw};
constexpr ConvKinds kVolume{k_conv3d, k_conv3d_dx, k_conv3d_dw};

template <const ConvKinds& kKinds>
void conv_gradient(Backward& back) {
  Builder& builder = back.builder;
  const ValueId x = back.op.inputs[0], w = back.op.inputs[1], dy = back.d_outputs[0];
  const TensorType x_type = builder.type(x), w_type = builder.type(w);
  if (back.wanted[1]) {
    back.d_inputs[1] = make(back, kKinds.dw, ".dw", {x, dy}, back.op.attrs, {w_type});
  }
  if (back.op.inputs.size() == 3 && back.wanted[2]) {
    const int64_t all_but_channels = (int64_t{1} << x_type.shape.size()) - 1 - 0b10;
    back.d_inputs[2] = make(back, k_reduce_sum, ".db", {dy}, {{all_but_channels}, {}});
  }
  if (back.wanted[0]) {
    back.d_inputs[0] = make(back, kKinds.dx, ".dx", {dy, w}, back.op.attrs, {x_type});
  }
}

// conv2d_dx is a transposed convolution: the roles of image and output are exchanged.
template <const ConvKinds& kKinds>
void conv_dx_gradient(Backward& back) {
  Builder& builder = back.builder;
  const ValueId x = back.op.inputs[0], w = back.op.inputs[1], dy = back.d_outputs[0];
  const TensorType w_type = builder.type(w);
  if (back.wanted[1]) {
    back.d_inputs[1] = make(back, kKinds.dw, ".dw", {dy, x}, back.op.attrs, {w_type});
  }
  if (back.wanted[0]) back.d_inputs[0] = make(back, kKinds.forward, ".dx", {dy, w}, back.op.attrs);
}

// The rows of the three products.
template <const ConvKinds& kKinds>
std::vector<OpDef> three_products() {
  return {forward_op(kKinds.forward, conv_gradient<kKinds>, conv_cost, rows_by(kFirstInput)),
          forward_op(kKinds.dx, conv_dx_gradient<kKinds>, conv_dx_cost, rows_by(kFirstInput)),
          backward_op(kKinds.dw, conv_dw_cost)};
}

}  // namespace

std::vector<OpDef> conv_ops() {
  std::vector<OpDef> ops = three_products<kPlane>();
  ops.push_back(backward_op(k_conv2d_dz, conv_dz_cost, over_third));
  std::ranges::move(three_products<kVolume>(), std::back_inserter(ops));
  return ops;
}

}  // namespace pantoum::ir
