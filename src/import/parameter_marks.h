// What PyTorch's newer exporter (torch.onnx.export with dynamo=True) says of a model's tensors.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "import/onnx_proto.h"

namespace pantoum::import {

enum class Mark : uint8_t { kNone, kParameter, kBuffer, kContradictory };

struct ParameterMarks {
  bool any = false;                                         // does the file say anything of any tensor?
  std::map<std::string, Mark> marks;                        // by initializer
  std::set<std::string> parameters;                         // the program's, by name; the file may lack some
  std::set<std::string> buffers;                            // the same
  std::set<std::string> updated;                            // buffers that the program's forward pass changes
  std::map<std::string, std::string> names;                 // "p_fc_weight", as fx nodes call it -> "fc.weight"
  std::map<std::string, std::vector<std::string>> sources;  // of a folded value: what it was folded from

  [[nodiscard]] Mark of(const std::string& name) const;
};

// Metadata that is damaged, or of no kind that is known, says nothing. Linear in the size of the file.
[[nodiscard]] ParameterMarks read_parameter_marks(const onnx::GraphProto& graph);

// Which parameter of the PyTorch program a node's input was, as the newer exporter wrote it beside the node.

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

// The call of the user's program that a node is of, by the path of its module: "layer1.0.conv1.conv2d". "" where the node
// does not say.
[[nodiscard]] std::string call_in_module(const onnx::NodeProto& node);

// Every parameter that the call is given directly, in lists too.
[[nodiscard]] std::vector<std::string> parameters_of(const FxCall& call, const ParameterMarks& marks);

// The metadata_props of nodes, values and tensors. The message classes of distributions are older than these fields and
// keep them as unknown ones.

// Where ONNX (1.16 on) has metadata_props.
enum class MetadataField : int { kOfNode = 9, kOfValue = 4, kOfTensor = 16, kOfGraph = 16 };

// By key; of a key that is there twice the first value counts. Damaged entries are left out.
[[nodiscard]] std::map<std::string, std::string> read_metadata(const google::protobuf::Message& message,
                                                               MetadataField field);

}  // namespace pantoum::import
