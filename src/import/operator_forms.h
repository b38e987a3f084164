// The form that ONNX gives an operator: how many operands and results, of which types, and which attributes.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "import/onnx_proto.h"
#include "ir/graph.h"

namespace pantoum::import {

// What an input of a node is, as far as it is known.
struct GivenType {
  ir::DType dtype = ir::DType::kF32;
  bool sequence = false;  // of tensors
};

// Has the node the inputs, outputs and attributes that ONNX's operator of this opset has? Operators of other domains, and
// those that ONNX does not have, are not judged. E0211, with what is wrong. Time is linear in the node.
[[nodiscard]] Result<void> check_form(const onnx::NodeProto& node, int64_t opset);

// Are the inputs of types that the operator takes, and of one type where it wants that? Floating-point types count as one:
// what the file has in another is computed in float32. E0211.
//   given  per input; none where the input is absent or of a type that is not known
[[nodiscard]] Result<void> check_types(const onnx::NodeProto& node, int64_t opset,
                                       const std::vector<std::optional<GivenType>>& given);

}  // namespace pantoum::import
