// TensorFlow Lite files that tests make. Tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tflite/operators.h"

namespace pantoum::tflite {

class MadeFile {
 public:
  struct Scales {
    std::vector<float> scales = {};
    std::vector<int64_t> zeros = {};
    int axis = 0;
  };

  flatbuffers::FlatBufferBuilder out;

  // A value: an input, or what an operator computes.
  int value(const std::string& name, const std::vector<int32_t>& shape,
            schema::TensorType type = schema::TensorType::FLOAT32) {
    return add(name, shape, type, 0, {});
  }
  int input(const std::vector<int32_t>& shape, schema::TensorType type = schema::TensorType::FLOAT32) {
    return inputs.emplace_back(value("x", shape, type));
  }

  template <class Element>
  int constant(const std::string& name, const std::vector<int32_t>& shape, schema::TensorType type,
               const std::vector<Element>& elements, const Scales& scales = {}) {
    const auto bytes = std::as_bytes(std::span(elements));
    const auto data = out.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    buffers_.push_back(schema::CreateBuffer(out, data));
    return add(name, shape, type, static_cast<uint32_t>(buffers_.size()), scales);
  }
  int reals(const std::string& name, const std::vector<int32_t>& shape, const std::vector<float>& elements) {
    return constant(name, shape, schema::TensorType::FLOAT32, elements);
  }
  int list(const std::vector<int32_t>& elements) {
    return constant("list", {static_cast<int32_t>(elements.size())}, schema::TensorType::INT32, elements);
  }

  // A constant that has the contents of another.
  int alias(const std::string& name, const std::vector<int32_t>& shape, int of, const Scales& scales) {
    return add(name, shape, schema::TensorType::INT8, buffer_of_.at(static_cast<size_t>(of)), scales);
  }

  // An operator with one result of this shape.
  template <class Options = schema::NotRead>
  int op(schema::Operators code, const std::vector<int32_t>& operands, const std::vector<int32_t>& shape,
         flatbuffers::Offset<Options> options = 0) {
    const schema::Options kind = options.IsNull() ? schema::Options::NONE : options_of(code);
    const int made = value("y" + std::to_string(operators_.size()), shape);
    codes_.push_back(schema::CreateOperatorCode(
        out, static_cast<int8_t>(std::min(static_cast<int>(code), 127)), 0, 1, code));
    operators_.push_back(schema::CreateOperator(out, static_cast<uint32_t>(operators_.size()),
                                                out.CreateVector(operands), out.CreateVector(std::vector{made}), kind,
                                                options.Union()));
    return made;
  }

  std::vector<int32_t> inputs;

  std::string bytes(const std::vector<int32_t>& outputs, uint32_t version = 3) {
    buffers_.insert(buffers_.begin(), schema::CreateBuffer(out));
    const auto graph = schema::CreateSubGraph(out, out.CreateVector(tensors_), out.CreateVector(inputs),
                                              out.CreateVector(outputs), out.CreateVector(operators_));
    const auto model = schema::CreateModel(out, version, out.CreateVector(codes_), out.CreateVector(&graph, 1), 0,
                                           out.CreateVector(buffers_));
    schema::FinishModelBuffer(out, model);
    return {reinterpret_cast<const char*>(out.GetBufferPointer()), out.GetSize()};
  }

 private:
  std::vector<flatbuffers::Offset<schema::Tensor>> tensors_;
  std::vector<uint32_t> buffer_of_;  // by tensor
  std::vector<flatbuffers::Offset<schema::Buffer>> buffers_;
  std::vector<flatbuffers::Offset<schema::OperatorCode>> codes_;
  std::vector<flatbuffers::Offset<schema::Operator>> operators_;

  int add(const std::string& name, const std::vector<int32_t>& shape, schema::TensorType type, uint32_t buffer,
          const Scales& scales) {
    flatbuffers::Offset<schema::Quantization> quantization = 0;
    if (!scales.scales.empty())
      quantization = schema::CreateQuantization(out, 0, 0, out.CreateVector(scales.scales),
                                                out.CreateVector(scales.zeros), schema::QuantizationDetails::NONE, 0,
                                                scales.axis);
    buffer_of_.push_back(buffer);
    const auto told = out.CreateString(name);
    tensors_.push_back(schema::CreateTensor(out, out.CreateVector(shape), type, buffer, told, quantization));
    return static_cast<int>(tensors_.size()) - 1;
  }
};

}  // namespace pantoum::tflite
