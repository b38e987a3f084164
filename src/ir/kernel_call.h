// Makes a kernel's call for an op of a graph, and runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "pantoum/pantoum.h"

namespace pantoum::ir {

// A tensor of that type at `data`; null: it only describes the tensor, as a kernel needs it to tell its workspace.
[[nodiscard]] inline pt_tensor tensor_at(const TensorType& type, std::byte* data = nullptr) {
  pt_tensor tensor{};
  tensor.data = data;
  tensor.rank = static_cast<uint8_t>(type.shape.size());
  tensor.dtype = static_cast<uint8_t>(type.dtype);
  for (size_t dim = 0; dim < type.shape.size() && dim < PT_MAX_RANK; ++dim)
    tensor.dims[dim] = static_cast<uint32_t>(type.shape[dim]);
  return tensor;
}

// A call with operands and attributes, which it points to; the caller adds workspace, scalars and pool.
[[nodiscard]] inline pt_call call_of(const Op& op, const std::vector<pt_tensor>& inputs,
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

// Runs the kernel on operands with contents, with a workspace of its own.
[[nodiscard]] inline pt_status run_kernel(const pt_kernel& kernel, const Op& op, const std::vector<pt_tensor>& inputs,
                                          const std::vector<pt_tensor>& outputs, const pt_scalars& scalars) {
  pt_call call = call_of(op, inputs, outputs);
  call.scalars = &scalars;
  std::vector<std::max_align_t> workspace;
  if (kernel.workspace_bytes != nullptr) {
    workspace.resize(kernel.workspace_bytes(&call) / sizeof(std::max_align_t) + 1);
    call.workspace = workspace.data();
  }
  const pt_status status = kernel.submit(&call);
  return status == PT_OK && kernel.wait != nullptr ? kernel.wait(&call) : status;
}

}  // namespace pantoum::ir
