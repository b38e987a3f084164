// Sums, means and maxima over dimensions; expand, their opposite; along one axis the position of the maximum, the
// positions of the k largest, and running sums.
#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

bool is_summed(int64_t mask, size_t dimension) {
  return (mask >> dimension & 1) != 0;
}

void reduce_max_gradient(Backward& back) {
  back.d_inputs[0] =
      make(back, k_reduce_max_grad, ".dx", {back.d_outputs[0], back.op.inputs[0], back.op.outputs[0]}, back.op.attrs);
}

// Puts the summed dimensions back as 1s and spreads a * dY over them.
template <bool kMean>
void spread(Backward& back) {
  const TensorType x = back.builder.type(back.op.inputs[0]);
  Shape kept = x.shape;
  double count = 1;
  for (size_t d = 0; d < kept.size(); ++d) {
    if (!is_summed(back.op.attrs.ints[0], d)) continue;
    count *= static_cast<double>(kept[d]);
    kept[d] = 1;
  }
  const double a = kMean ? 1 / count : 1;
  const ValueId dy = back.builder.reshape(back.d_outputs[0], kept);
  back.d_inputs[0] = kept == x.shape ? back.builder.scale(dy, a) : make(back, k_expand, ".dx", {dy}, {{}, {a}}, {x});
}

void expand_gradient(Backward& back) {
  const Shape shape = back.builder.type(back.op.inputs[0]).shape;
  back.d_inputs[0] = back.builder.scale(back.builder.sum_to(back.d_outputs[0], shape), back.op.attrs.reals[0]);
}

// The sums that an element is part of: a running sum in the other direction.
void cumsum_gradient(Backward& back) {
  Attrs attrs = back.op.attrs;
  attrs.ints[2] = 1 - attrs.ints[2];
  back.d_inputs[0] = make(back, k_cumsum, ".dx", {back.d_outputs[0]}, attrs);
}

}  // namespace

std::vector<OpDef> reduce_ops() {
  return {
      forward_op(k_reduce_sum, spread<false>, flops_per_input<1>, rows_by(kReduced)),
      forward_op(k_reduce_mean, spread<true>, flops_per_input<1>, rows_by(kReduced)),
      forward_op(k_reduce_max, reduce_max_gradient, flops_per_input<1>, rows_by(kReduced)),
      backward_op(k_reduce_max_grad, flops_per_output<3>),
      forward_op(k_expand, expand_gradient, flops_per_output<1>, rows_by(kBroadcast)),
      forward_op(k_arg_max, kNoGradient, flops_per_input<1>, rows_by(kBehindAxis)),
      forward_op(k_top_k, kNoGradient, flops_per_input<8>, rows_by(kBehindAxis)),
      forward_op(k_cumsum, cumsum_gradient, flops_per_output<1>, rows_by(kBehindAxis), over_first),
  };
}

}  // namespace pantoum::ir
