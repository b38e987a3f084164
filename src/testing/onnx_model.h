// ONNX models built node by node. Tests only.
#pragma once

#include <cctype>
#include <cstdint>
#include <string>
#include <vector>

#include "import/onnx.h"
#include "import/onnx_messages.h"

namespace pantoum::import {

class OnnxModel {
 public:
  explicit OnnxModel(int64_t opset = 17, int64_t ir_version = 8) {
    proto_.set_ir_version(ir_version);
    proto_.add_opset_import()->set_version(opset);
    graph().set_name("g");
  }

  OnnxModel& input(const std::string& name, const std::vector<std::string>& dims) {
    auto& value = *graph().add_input();
    value.set_name(name);
    auto& type = *value.mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const std::string& dim : dims) {
      auto& extent = *type.mutable_shape()->add_dim();
      if (std::isdigit(static_cast<unsigned char>(dim[0])))
        extent.set_dim_value(std::stoll(dim));
      else
        extent.set_dim_param(dim);
    }
    return *this;
  }
  OnnxModel& weight(const std::string& name, const std::vector<int64_t>& dims, float value = 0.5F) {
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (int64_t dim : dims) {
      tensor.add_dims(dim);
      count *= dim;
    }
    for (int64_t at = 0; at < count; ++at) tensor.add_float_data(value);
    return *this;
  }
  OnnxModel& integers(const std::string& name, const std::vector<int64_t>& values) {
    auto& tensor = *graph().add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (int64_t value : values) tensor.add_int64_data(value);
    return *this;
  }
  // The initializer added last, in another type of integers.
  OnnxModel& as_type(onnx::TensorProto::DataType type) {
    auto& tensor = *graph().mutable_initializer(graph().initializer_size() - 1);
    const std::vector<int64_t> values(tensor.int64_data().begin(), tensor.int64_data().end());
    tensor.clear_int64_data();
    tensor.set_data_type(type);
    for (const int64_t value : values) tensor.add_int32_data(static_cast<int32_t>(value));
    return *this;
  }
  OnnxModel& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs) {
    auto& node = *graph().add_node();
    node.set_op_type(op);
    node.set_name(op + "_" + outputs[0]);
    for (const std::string& input : inputs) node.add_input(input);
    for (const std::string& output : outputs) node.add_output(output);
    return *this;
  }
  OnnxModel& attribute(const std::string& name, int64_t value) {
    auto& entry = *graph().mutable_node(graph().node_size() - 1)->add_attribute();
    entry.set_name(name);
    entry.set_type(onnx::AttributeProto::INT);
    entry.set_i(value);
    return *this;
  }
  OnnxModel& real_attribute(const std::string& name, float value) {
    auto& entry = *graph().mutable_node(graph().node_size() - 1)->add_attribute();
    entry.set_name(name);
    entry.set_type(onnx::AttributeProto::FLOAT);
    entry.set_f(value);
    return *this;
  }
  OnnxModel& output(const std::string& name) {
    graph().add_output()->set_name(name);
    graph()
        .mutable_output(graph().output_size() - 1)
        ->mutable_type()
        ->mutable_tensor_type()
        ->set_elem_type(onnx::TensorProto::FLOAT);
    return *this;
  }
  onnx::GraphProto& graph() { return *proto_.mutable_graph(); }
  [[nodiscard]] std::string bytes() const { return proto_.SerializeAsString(); }
  [[nodiscard]] Result<Imported> load(int64_t batch = 0, const std::string& folder = "/nonexistent") const {
    return load(OnnxOptions{.batch = batch}, folder);
  }
  [[nodiscard]] Result<Imported> load(const OnnxOptions& options, const std::string& folder = "/nonexistent") const {
    const std::string text = bytes();
    return parse_onnx(text.data(), text.size(), folder, options);
  }

 private:
  onnx::ModelProto proto_;
};

}  // namespace pantoum::import
