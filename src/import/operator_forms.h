// The form that ONNX gives an operator: how many operands and results, of which types, and which attributes.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "import/onnx_proto.h"
#include "import/shapes.h"

namespace pantoum::import {

// One form of an operator as ONNX's schemas have it. Operands are words: the name, '!' (needed), '?' (optional), '*' (any number of
// one type) or '+' (any number), and the name of the type; types are NAME=bits in hexadecimal, one for each element type;
// attributes are NAME!type (needed) or NAME:type.
struct OperatorFormText {
  const char* op_type;
  int since;
  int least_inputs, least_outputs;
  const char *inputs, *outputs, *types, *attributes;
};

// Every operator of the opsets 11 to 21 that is not deprecated: one entry for each of its forms, sorted by name and opset.
[[nodiscard]] std::span<const OperatorFormText> operator_forms();

// The type of a node's input, as far as it is known.
struct GivenType {
  DType dtype = DType::kF32;
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
