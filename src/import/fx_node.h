// Which parameter of the PyTorch program a node's input was, as the newer exporter wrote it beside the node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "import/parameter_marks.h"

namespace onnx {
class NodeProto;
}

namespace pantoum::import {

// "%linear : [...] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_fc_weight, ...), kwargs = {...})"
struct FxCall {
  std::string target;             // "linear.default"; "" where the node says nothing
  std::vector<std::string> args;  // "%x", "[8]", "1e-05": at the outer level
};

[[nodiscard]] FxCall read_fx_call(const onnx::NodeProto& node);

// The name of the parameter or buffer that this input is an operand of, by the call's own order of arguments; none where
// the call passes something else, or is of a kind whose operands are not only moved.
[[nodiscard]] std::optional<std::string> expected_operand(const onnx::NodeProto& node, int input, const FxCall& call,
                                                          const ParameterMarks& marks);

// Every parameter that the call is given directly, in lists too.
[[nodiscard]] std::vector<std::string> parameters_of(const FxCall& call, const ParameterMarks& marks);

}  // namespace pantoum::import
