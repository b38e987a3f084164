#include "import/constant_tables.h"

#include "import/onnx_messages.h"
#include "import/subgraphs.h"
#include "import/tensor.h"

namespace pantoum::import {
namespace {

// The tensor that a Constant node holds as such.
const onnx::TensorProto* tensor_of(const onnx::NodeProto& node) {
  if (node.op_type() != "Constant" || !(node.domain().empty() || node.domain() == "ai.onnx") || node.output_size() != 1)
    return nullptr;
  for (const auto& attribute : node.attribute())
    if (attribute.name() == "value" && attribute.has_t()) return &attribute.t();
  return nullptr;
}

// Its type, where it is a table.
std::optional<TensorType> type_of_table(const onnx::NodeProto& node, int64_t least) {
  const onnx::TensorProto* tensor = tensor_of(node);
  const auto dtype = tensor == nullptr ? std::nullopt : dtype_of(tensor->data_type());
  if (!dtype) return std::nullopt;
  const Shape shape(tensor->dims().begin(), tensor->dims().end());
  if (count_elements(shape).value_or(0) < least) return std::nullopt;
  return TensorType{*dtype, shape};
}

// Those of `from`, which is `graph` or one of its subgraphs.
void lift_into(onnx::GraphProto& graph, onnx::GraphProto& from, const WantsTable& wanted) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (auto& node : *from.mutable_node()) {
    for (auto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) lift_into(graph, *attribute.mutable_g(), wanted);
    const auto type = type_of_table(node, 1);
    if (!type || !ir::is_float(type->dtype) || !wanted(node.output(0), *type)) {
      kept.Add()->Swap(&node);
      continue;
    }
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor = *tensor_of(node);
    tensor.set_name(node.output(0));
  }
  from.mutable_node()->Swap(&kept);
}

}  // namespace

std::map<std::string, TensorType> find_tables(const onnx::GraphProto& graph, int64_t least) {
  std::map<std::string, TensorType> tables;
  for (const auto& node : graph.node()) {
    if (auto type = type_of_table(node, least)) tables.emplace(node.output(0), *std::move(type));
    for (const onnx::GraphProto* body : subgraphs_of(node)) tables.merge(find_tables(*body, least));
  }
  return tables;
}

void lift_tables(onnx::GraphProto& graph, const WantsTable& wanted) {
  lift_into(graph, graph, wanted);
}

}  // namespace pantoum::import
