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
  std::string target;                   // "linear.default"; "" where the node says nothing
  std::vector<std::string> args;        // "%x", "[8]", "1e-05": at the outer level
  std::vector<std::string> references;  // "x", "p_fc_weight": every value that it is given, in lists and by keyword too
  double alpha = 1;                     // of add and sub: what their second operand is multiplied with

  [[nodiscard]] bool mentions(const std::string& value) const;
};

// The rules by which the exporter's optimizer made the node; "" where it is the program's own.
[[nodiscard]] std::string rewriter_rules(const onnx::NodeProto& node);

// "view" of "view_12": exporters number the results of one kind of call.
[[nodiscard]] std::string without_number(const std::string& value);

[[nodiscard]] FxCall read_fx_call(const onnx::NodeProto& node);

// The name of the parameter or buffer that this input is an operand of, by the call's own order of arguments; none where
// the call passes something else, or is of a kind whose operands are not only moved.
[[nodiscard]] std::optional<std::string> expected_operand(const onnx::NodeProto& node, int input, const FxCall& call,
                                                          const ParameterMarks& marks);

// Every parameter that the call is given directly, in lists too.
[[nodiscard]] std::vector<std::string> parameters_of(const FxCall& call, const ParameterMarks& marks);

}  // namespace pantoum::import
