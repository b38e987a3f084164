// Makes a kernel's call for an op of a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "pantoum/pantoum.h"

namespace pantoum::cost {

// A tensor of that type at `data`; null: it only describes the tensor, as a kernel needs it to tell its workspace.
[[nodiscard]] inline pt_tensor tensor_at(const ir::TensorType& type, std::byte* data = nullptr) {
  pt_tensor tensor{};
  tensor.data = data;
  tensor.rank = static_cast<uint8_t>(type.shape.size());
  tensor.dtype = static_cast<uint8_t>(type.dtype);
  for (size_t dim = 0; dim < type.shape.size() && dim < PT_MAX_RANK; ++dim)
    tensor.dims[dim] = static_cast<uint32_t>(type.shape[dim]);
  return tensor;
}

// A call with operands and attributes, which it points to; the caller adds workspace, scalars and pool.
[[nodiscard]] inline pt_call call_of(const ir::Op& op, const std::vector<pt_tensor>& inputs,
                                     const std::vector<pt_tensor>& outputs) {
  pt_call call{};
  call.inputs = inputs.data();
  call.outputs = outputs.data();
  call.ints = op.attrs.ints.data();
  call.reals = op.attrs.reals.data();
  call.input_count = static_cast<uint16_t>(inputs.size());
  call.output_count = static_cast<uint16_t>(outputs.size());
  call.int_count = static_cast<uint16_t>(op.attrs.ints.size());
  call.real_count = static_cast<uint16_t>(op.attrs.reals.size());
  return call;
}

}  // namespace pantoum::cost
