// What backward needs of an activation, in less: signs for relu, a window's tap for max pooling.
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

Result<void> want_bytes(const TensorType& type, const Shape& shape, const char* what) {
  if (type.dtype != DType::kU8) return refuse(std::string(what) + " are not u8");
  return want_shape(type, shape, what);
}

Shape bits_shape(const TensorType& x) {
  return {(x.elements() + 7) / 8};
}

Types sign_bits_rule(const OpTypes& types) {
  PANTOUM_TRY(float_dtype(types.inputs));
  return std::vector<TensorType>{{DType::kU8, bits_shape(types.inputs[0])}};
}

Types grad_bits_rule(const OpTypes& types) {
  PANTOUM_TRY(float_dtype(types.inputs, 0, 1));
  PANTOUM_TRY(want_bytes(types.inputs[1], bits_shape(types.inputs[0]), "the signs"));
  return std::vector<TensorType>{types.inputs[0]};
}

// The pooled image; images in blocks of channels have those innermost.
Result<Shape> pooled(const TensorType& x, const std::vector<int64_t>& ints) {
  const bool blocked = x.shape.size() == 5;
  TensorType image = x;
  if (blocked) image.shape.pop_back();
  for (const int attr : {PT_POOL_KERNEL_H, PT_POOL_KERNEL_W})
    if (ints[static_cast<size_t>(attr)] < 1 || ints[static_cast<size_t>(attr)] > 255)
      return refuse("its window is too large");
  if (ints[PT_POOL_KERNEL_H] * ints[PT_POOL_KERNEL_W] > 255) return refuse("its window has more than 255 taps");
  PANTOUM_ASSIGN(Shape shape, pool_shape(image, ints));
  if (blocked) shape.push_back(x.shape[4]);
  return shape;
}

Types taps_rule(const OpTypes& types) {
  PANTOUM_TRY(float_dtype(types.inputs));
  PANTOUM_ASSIGN(Shape shape, pooled(types.inputs[0], types.attrs.ints));
  return std::vector<TensorType>{{DType::kU8, std::move(shape)}};
}

Types grad_taps_rule(const OpTypes& types) {
  PANTOUM_TRY(want_given(types));
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs, 0, 1));
  PANTOUM_ASSIGN(const Shape shape, pooled(types.outputs[0], types.attrs.ints));
  PANTOUM_TRY(want_shape(types.inputs[0], shape, "the output's gradient"));
  PANTOUM_TRY(want_bytes(types.inputs[1], shape, "the taps"));
  return std::vector<TensorType>{{dtype, types.outputs[0].shape}};
}

OpCost taps_cost(const OpTypes& types) {
  const auto taps = static_cast<double>(types.attrs.ints[PT_POOL_KERNEL_H] * types.attrs.ints[PT_POOL_KERNEL_W]);
  return operand_bytes(types, taps * static_cast<double>(types.outputs[0].elements()));
}

OpDef grad_bits(Kind kind, int reals) {
  return {.kind = kind,
          .signature = {.min_inputs = 2, .max_inputs = 2, .reals = reals},
          .infer = grad_bits_rule,
          .gradient = kNoGradient,
          .cost = flops_per_output<1>,
          .in_place = over_first,
          .traits = kNoTraits};
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> compact_ops() {
  return {{.kind = Kind::k_sign_bits,
           .infer = sign_bits_rule,
           .gradient = kNoGradient,
           .cost = flops_per_input<1>,
           .traits = kNoTraits},
          grad_bits(Kind::k_relu_grad_bits, 0),
          grad_bits(Kind::k_leaky_relu_grad_bits, 1),
          {.kind = Kind::k_max_pool_taps,
           .signature = {.ints = PT_POOL_ATTRS},
           .infer = taps_rule,
           .gradient = kNoGradient,
           .cost = taps_cost,
           .traits = kNoTraits},
          {.kind = Kind::k_max_pool_grad_taps,
           .signature = {.min_inputs = 2, .max_inputs = 2, .ints = PT_POOL_ATTRS},
           .infer = grad_taps_rule,
           .gradient = kNoGradient,
           .cost = flops_per_input<2>,
           .traits = kNoTraits}};
}

}  // namespace pantoum::ir
