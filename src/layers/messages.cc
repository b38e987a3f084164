#include "layers/messages.h"

#include <google/protobuf/unknown_field_set.h>

#include "import/parameter_marks.h"

namespace pantoum::layers {
namespace {

constexpr int64_t kIrVersion = 10;
constexpr const char* kBatchName = "N";
constexpr const char* kKind = "pkg.torch.export.graph_signature.InputSpec.kind";

struct AttributeWriter {
  onnx::AttributeProto& to;

  void operator()(int64_t value) const {
    to.set_type(onnx::AttributeProto::INT);
    to.set_i(value);
  }
  void operator()(double value) const {
    to.set_type(onnx::AttributeProto::FLOAT);
    to.set_f(static_cast<float>(value));
  }
  void operator()(const std::string& value) const {
    to.set_type(onnx::AttributeProto::STRING);
    to.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    to.set_type(onnx::AttributeProto::INTS);
    to.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<double>& values) const {
    to.set_type(onnx::AttributeProto::FLOATS);
    for (const double value : values) to.add_floats(static_cast<float>(value));
  }
  void operator()(const std::vector<std::string>& values) const {
    to.set_type(onnx::AttributeProto::STRINGS);
    for (const std::string& value : values) to.add_strings(value);
  }
};

// The ONNX packages of distributions are older than this field. Their classes write a field that they do not know unchanged.
void mark(onnx::TensorProto& tensor, const char* kind) {
  onnx::StringStringEntryProto entry;
  entry.set_key(kKind);
  entry.set_value(kind);
  tensor.GetReflection()->MutableUnknownFields(&tensor)->AddLengthDelimited(
      static_cast<int>(import::MetadataField::kOfTensor), entry.SerializeAsString());
}

}  // namespace

void begin_model(onnx::ModelProto& model, const std::string& name) {
  model.set_ir_version(kIrVersion);
  model.set_producer_name("pantoum");
  import_domain(model, "");
  model.mutable_graph()->set_name(name);
}

void import_domain(onnx::ModelProto& model, const std::string& domain) {
  for (const auto& known : model.opset_import())
    if (known.domain() == domain) return;
  onnx::OperatorSetIdProto& set = *model.add_opset_import();
  set.set_domain(domain);
  set.set_version(domain.empty() || domain == "ai.onnx" ? kOpset : 1);
}

void write_attributes(onnx::NodeProto& node, const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    onnx::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name(name);
    std::visit(AttributeWriter{attribute}, value);
  }
}

void write_tensor(onnx::TensorProto& tensor, const std::string& name, DType dtype, const Shape& shape,
                  const Bytes& elements, bool trained) {
  tensor.set_name(name);
  tensor.set_data_type(onnx_type(dtype));
  tensor.mutable_dims()->Add(shape.begin(), shape.end());
  tensor.set_raw_data(elements.data(), elements.size());
  mark(tensor, trained ? "PARAMETER" : "BUFFER");
}

void write_value(onnx::ValueInfoProto& value, const std::string& name, DType dtype, const Shape& shape) {
  value.set_name(name);
  onnx::TypeProto_Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_type(dtype));
  onnx::TensorShapeProto& extents = *type.mutable_shape();
  for (const int64_t extent : shape) {
    auto& dim = *extents.add_dim();
    if (extent == kBatch)
      dim.set_dim_param(kBatchName);
    else
      dim.set_dim_value(extent);
  }
}

void write_identity(onnx::GraphProto& graph, const std::string& name, const std::string& from, const std::string& to) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type("Identity");
  node.set_name(name);
  node.add_input(from);
  node.add_output(to);
}

}  // namespace pantoum::layers
