// matmul; a product with what follows it: what is added to its result and an activation, or a weight's update.
#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

OpCost matmul_cost(const OpTypes& types) {
  const Shape& a = types.inputs[0].shape;
  const int64_t inner = a[a.size() - (types.attrs.ints[0] != 0 ? 2 : 1)];
  return operand_bytes(types, 2.0 * static_cast<double>(types.outputs[0].elements()) * static_cast<double>(inner));
}

ValueId product(Backward& back, const char* suffix, ValueId a, ValueId b, bool trans_a, bool trans_b) {
  return make(back, k_matmul, suffix, {a, b}, {{trans_a, trans_b}, {}});
}

Shape as_matrix(const Shape& shape) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d) rows *= shape[d];
  return {rows, shape.back()};
}

// One weight for every matrix of a batch is one product of taller matrices: its gradient then needs no sum over the
// batch.
void matmul_gradient(Backward& back) {
  Builder& builder = back.builder;
  ValueId a = back.op.inputs[0], b = back.op.inputs[1], dy = back.d_outputs[0];
  const bool trans_a = back.op.attrs.ints[0] != 0, trans_b = back.op.attrs.ints[1] != 0;
  const Shape a_shape = builder.type(a).shape, b_shape = builder.type(b).shape;
  if (back.op.inputs.size() == 3 && back.wanted[2]) {
    back.d_inputs[2] = builder.sum_to(dy, builder.type(back.op.inputs[2]).shape);
  }
  if (b_shape.size() == 2 && a_shape.size() > 2 && !trans_a) {
    if (back.wanted[1]) a = builder.reshape(a, as_matrix(a_shape));
    dy = builder.reshape(dy, as_matrix(builder.type(dy).shape));
  }
  if (back.wanted[1]) {
    const ValueId db =
        trans_b ? product(back, ".dw", dy, a, true, trans_a) : product(back, ".dw", a, dy, !trans_a, false);
    back.d_inputs[1] = builder.sum_to(db, b_shape);
  }
  if (back.wanted[0]) {
    const ValueId da =
        trans_a ? product(back, ".dx", b, dy, trans_b, true) : product(back, ".dx", dy, b, false, !trans_b);
    const bool folded = builder.type(da).shape.size() < a_shape.size();
    back.d_inputs[0] = folded ? builder.reshape(da, a_shape) : builder.sum_to(da, a_shape);
  }
}

// The product's own operands and integers come first; the integers of what follows are the last, and R is the last input.
struct ActParts {
  int64_t activation, residual;
  std::span<const TensorType> own;
  Attrs product;
};

ActParts act_parts(const OpTypes& types) {
  const auto& ints = types.attrs.ints;
  const size_t product = ints.size() - PT_EPILOGUE_ATTRS;
  const int64_t residual = ints[product + PT_EPILOGUE_RESIDUAL];
  const size_t own = types.inputs.size() - (residual != PT_RESIDUAL_NONE ? 1 : 0);
  return {ints[product + PT_EPILOGUE_ACTIVATION],
          residual,
          types.inputs.first(own),
          {{ints.begin(), ints.begin() + static_cast<std::ptrdiff_t>(product)}, {}}};
}

template <Kind kProduct>
OpCost act_cost(const OpTypes& types) {
  const ActParts parts = act_parts(types);
  double flops = op_def(kProduct).cost({parts.own, types.outputs, parts.product}).flops;
  if (parts.residual != PT_RESIDUAL_NONE) flops += static_cast<double>(types.outputs[0].elements());
  if (parts.activation != 0) {
    const Attrs own{{0}, types.attrs.reals};
    flops += op_def(static_cast<Kind>(parts.activation)).cost({types.outputs, types.outputs, own}).flops;
  }
  return operand_bytes(types, flops);
}

constexpr size_t kWeight = 2;  // behind the product's two factors

// A weight's update by a gradient that is a product and never a tensor: the product's flops, and those of the update that follows it.
template <Kind kProduct, size_t kProductInts>
OpCost update_cost(const OpTypes& types) {
  const auto& ints = types.attrs.ints;
  const Attrs product_attrs{{ints.begin(), ints.begin() + kProductInts}, {}};
  const auto update = static_cast<Kind>(ints[kProductInts + PT_UPDATE_OP]);
  const Attrs update_attrs{{ints[kProductInts + PT_UPDATE_FLAG]}, types.attrs.reals};
  const auto updated = types.inputs.subspan(kWeight);  // w states..
  const double product = op_def(kProduct).cost({types.inputs.first(kWeight), updated.first(1), product_attrs}).flops;
  return operand_bytes(types, product + op_def(update).cost({updated, types.outputs, update_attrs}).flops);
}

Pairs over_all_but_factors(const OpTypes& types) {
  Pairs pairs;
  for (int updated = kWeight; updated < static_cast<int>(types.inputs.size()); ++updated)
    pairs.emplace_back(updated - static_cast<int>(kWeight), updated);
  return pairs;
}

}  // namespace

std::vector<OpDef> product_ops() {
  return {
      forward_op(k_matmul, matmul_gradient, matmul_cost, rows_by(kProduct)),
      backward_op(k_matmul_act, act_cost<k_matmul>, over_residual),
      backward_op(k_conv2d_act, act_cost<k_conv2d>, over_residual),
      once(backward_op(k_matmul_update, update_cost<k_matmul, PT_MATMUL_ATTRS>, over_all_but_factors)),
      once(backward_op(k_conv2d_dw_update, update_cost<k_conv2d_dw, PT_CONV_ATTRS>, over_all_but_factors)),
  };
}

}  // namespace pantoum::ir
