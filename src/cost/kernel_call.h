// A kernel's call for an op of a graph.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph.h"
#include "pantoum/pantoum.h"

namespace pantoum::cost {

// Operands and attributes; the workspace, the scalars and the pool are the caller's to add. All stay the caller's.
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
