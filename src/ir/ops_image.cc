// Pooling and resizing of images. Every window of a pool must hold at least one element of the image. The gradient of
// resize reads nothing of the forward pass. One byte per output can store the position of a window's maximum in place
// of the image.
#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

double taps(const OpTypes& types) {
  return static_cast<double>(types.attrs.ints[PT_POOL_KERNEL_H]) *
         static_cast<double>(types.attrs.ints[PT_POOL_KERNEL_W]);
}

OpCost pool_cost(const OpTypes& types) {
  return operand_bytes(types, taps(types) * static_cast<double>(types.outputs[0].elements()));
}
OpCost pool_grad_cost(const OpTypes& types) {
  return operand_bytes(types, taps(types) * static_cast<double>(types.inputs[0].elements()));
}

}  // namespace

std::vector<OpDef> image_ops() {
  return {
      forward_op(k_max_pool, from_input<k_max_pool_grad>, pool_cost, rows_by(kFirstInput)),
      {.kind = k_max_pool_grad,
       .gradient = kNoGradient,
       .cost = pool_grad_cost,
       .traits = kNoTraits,
       .compact = CompactForm{k_max_pool_taps, k_max_pool_grad_taps}},
      forward_op(k_avg_pool, from_gradient<k_avg_pool_grad>, pool_cost, rows_by(kFirstInput)),
      backward_op(k_avg_pool_grad, pool_grad_cost),
      forward_op(k_resize, from_gradient<k_resize_grad>, flops_per_output<7>, rows_by(kFirstInput)),
      backward_op(k_resize_grad, flops_per_input<8>),
      backward_op(k_max_pool_taps, pool_cost),
      backward_op(k_max_pool_grad_taps, flops_per_input<2>),
  };
}

}  // namespace pantoum::ir
