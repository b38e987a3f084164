// A model as PyTorch's newer exporter writes it, metadata included. Tests only.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "import/parameter_marks.h"
#include "import/onnx.h"
#include "import/onnx_messages.h"
#include "testing/onnx_metadata.h"

namespace pantoum::import {

using Names = std::vector<std::string>;

// x [2,4] -> nodes -> y.
class Exported {
 public:
  explicit Exported(const Names& parameters) {
    proto_.set_ir_version(10);
    proto_.add_opset_import()->set_version(20);
    onnx::ValueInfoProto& x = *graph().add_input();
    x.set_name("x");
    x.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
    for (const int64_t extent : {2, 4})
      x.mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(extent);
    graph().add_output()->set_name("y");
    for (const std::string& each : parameters) signature_ += "p_" + each + ": PARAMETER target='" + each + "'\n";
    sign();
  }
  onnx::GraphProto& graph() { return *proto_.mutable_graph(); }
  // Elements 1, 2, 3, ...; as many zeros where it has one dimension.
  Exported& tensor(const std::string& name, const std::vector<int64_t>& dims, const std::string& folded_from = "") {
    onnx::TensorProto& made = *graph().add_initializer();
    made.set_name(name);
    made.set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (const int64_t dim : dims) made.add_dims(dim), count *= dim;
    for (int64_t at = 0; at < count; ++at) made.add_float_data(dims.size() > 1 ? static_cast<float>(at + 1) : 0);
    onnx::ValueInfoProto& value = *graph().add_value_info();
    value.set_name(name);
    if (folded_from.empty())
      annotate(value, MetadataField::kOfValue, "pkg.torch.export.graph_signature.InputSpec.kind", "PARAMETER");
    else
      annotate(value, MetadataField::kOfValue, "pkg.onnxscript.optimizer.folded_from", folded_from);
    return *this;
  }
  Exported& node(const std::string& op_type, const Names& inputs, const std::string& output, const std::string& call,
                 const std::string& rule = "") {
    onnx::NodeProto& made = *graph().add_node();
    made.set_op_type(op_type);
    made.set_name(output);
    for (const std::string& input : inputs) made.add_input(input);
    made.add_output(output);
    annotate(made, MetadataField::kOfNode, "pkg.torch.onnx.fx_node",
             "%z : [num_users=1] = call_function[target=torch.ops.aten." + call + ", kwargs = {})");
    if (!rule.empty()) annotate(made, MetadataField::kOfNode, "pkg.onnxscript.rewriter.rule_name", rule);
    return *this;
  }
  Exported& values(const std::string& name, const std::vector<float>& elements) {
    for (onnx::TensorProto& tensor : *graph().mutable_initializer())
      if (tensor.name() == name)
        for (int at = 0; at < tensor.float_data_size(); ++at)
          tensor.set_float_data(at, elements[static_cast<size_t>(at) % elements.size()]);
    return *this;
  }
  // Named in the signature and marked: after tensor(), which takes it for a parameter.
  Exported& buffer(const std::string& name, bool changes = false) {
    if (changes) outputs_ += "add: BUFFER_MUTATION target='" + name + "'\n";
    signature_ += "b_" + name + ": BUFFER target='" + name + "' persistent=True\n";
    sign();
    return *this;
  }
  [[nodiscard]] Result<Imported> load(bool accept = false) const {
    const std::string bytes = proto_.SerializeAsString();
    return parse_onnx(bytes.data(), bytes.size(), "", {.accept_folded = accept});
  }

 private:
  onnx::ModelProto proto_;
  std::string signature_ = "\n# inputs\n", outputs_ = "y: USER_OUTPUT\n";

  void sign() {
    graph().GetReflection()->MutableUnknownFields(&graph())->Clear();
    annotate(graph(), MetadataField::kOfGraph, "pkg.torch.export.ExportedProgram.graph_signature",
             signature_ + "x: USER_INPUT\n\n# outputs\n" + outputs_);
  }
};

inline std::vector<float> contents(const ir::Graph& graph, const std::string& name) {
  for (const ir::Value& value : graph.values) {
    if (value.name != name || !value.data) continue;
    std::vector<float> elements(value.data->size() / sizeof(float));
    std::memcpy(elements.data(), value.data->data(), value.data->size());
    return elements;
  }
  return {};
}

inline Names parameters(const ir::Graph& graph) {
  Names names;
  for (const ir::Value& value : graph.values)
    if (value.role == ir::Role::kParameter) names.push_back(value.name + ir::to_text(value.type));
  return names;
}

}  // namespace pantoum::import
