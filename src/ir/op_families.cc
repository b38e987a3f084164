#include "ir/op_families.h"

namespace pantoum::ir {

pt_tensor to_tensor(const TensorType& type) {
  pt_tensor tensor{};
  tensor.rank = static_cast<uint8_t>(type.shape.size());
  tensor.dtype = static_cast<uint8_t>(type.dtype);
  for (size_t dim = 0; dim < type.shape.size(); ++dim) tensor.dims[dim] = static_cast<uint32_t>(type.shape[dim]);
  return tensor;
}

TensorType to_type(const pt_tensor& tensor) {
  return {static_cast<DType>(tensor.dtype), Shape(tensor.dims, tensor.dims + tensor.rank)};
}

Pairs over_first(const OpTypes&) {
  return {{0, 0}};
}

Pairs over_first_two(const OpTypes&) {
  return {{0, 0}, {0, 1}};
}

Pairs over_equal_inputs(const OpTypes& types) {
  Pairs pairs;
  for (size_t input = 0; input < types.inputs.size(); ++input) {
    if (types.inputs[input] == types.outputs[0]) pairs.emplace_back(0, static_cast<int>(input));
  }
  return pairs;
}

Pairs over_residual(const OpTypes& types) {
  if (types.attrs.ints.back() != PT_RESIDUAL_OVER) return {};
  return {{0, static_cast<int>(types.inputs.size()) - 1}};
}

OpCost operand_bytes(const OpTypes& types, double flops) {
  OpCost cost;
  cost.flops = flops;
  for (const TensorType& input : types.inputs) cost.bytes_read += input.bytes();
  for (const TensorType& output : types.outputs) cost.bytes_written += output.bytes();
  return cost;
}

std::vector<ValueId> make_all(Backward& back, Kind kind, const char* suffix, std::vector<ValueId> inputs, Attrs attrs,
                              std::vector<TensorType> given) {
  return back.builder.add(kind, back.op.name + suffix, std::move(inputs), std::move(attrs), std::move(given));
}

ValueId make(Backward& back, Kind kind, const char* suffix, std::vector<ValueId> inputs, Attrs attrs,
             std::vector<TensorType> given) {
  return make_all(back, kind, suffix, std::move(inputs), std::move(attrs), std::move(given))[0];
}

void sum_to_input(Backward& back, size_t input, ValueId gradient) {
  const Shape shape = back.builder.type(back.op.inputs[input]).shape;
  back.d_inputs[input] = back.builder.sum_to(gradient, shape);
}

ValueId gradient_or_zeros(Backward& back, size_t output, const char* suffix) {
  if (back.d_outputs[output] != kNone) return back.d_outputs[output];
  const TensorType type = back.builder.type(back.op.outputs[output]);
  const ValueId zero = back.builder.constant_f32(back.op.name + ".zero", {}, {0.0F});
  return make(back, k_expand, suffix, {zero}, {{}, {1}}, {type});
}

}  // namespace pantoum::ir
