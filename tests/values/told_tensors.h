// Tensors as the files of expected values tell them: name, type, shape and elements.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "import/onnx_messages.h"
#include "import/tensor.h"

namespace pantoum {

using Json = nlohmann::json;

inline const std::map<std::string, ir::DType> kTypes = {{"i64", ir::DType::kI64},
                                                        {"i32", ir::DType::kI32},
                                                        {"u8", ir::DType::kU8},
                                                        {"bool", ir::DType::kBool},
                                                        {"f32", ir::DType::kF32}};

inline double real_of(const Json& value) {
  if (!value.is_string()) return value.get<double>();
  const double infinity = std::numeric_limits<double>::infinity();
  return value == "nan" ? std::nan("") : value == "inf" ? infinity : -infinity;
}

inline import::Tensor tensor_of(const Json& told) {
  const ir::DType dtype = kTypes.at(told["type"]);
  const ir::Shape shape = told["shape"].get<ir::Shape>();
  if (dtype == ir::DType::kF32) {
    std::vector<double> reals;
    for (const Json& value : told["values"]) reals.push_back(real_of(value));
    return import::make_tensor(dtype, shape, reals);
  }
  std::vector<int64_t> whole;
  for (const Json& value : told["values"])
    whole.push_back(value.is_boolean() ? static_cast<int64_t>(value.get<bool>()) : value.get<int64_t>());
  return import::make_tensor(dtype, shape, whole);
}

inline onnx::TensorProto message_of(const Json& told) {
  const import::Tensor tensor = tensor_of(told);
  onnx::TensorProto message;
  message.set_name(told["name"].get<std::string>());
  const std::map<ir::DType, int32_t> types = {{ir::DType::kI64, onnx::TensorProto::INT64},
                                              {ir::DType::kI32, onnx::TensorProto::INT32},
                                              {ir::DType::kU8, onnx::TensorProto::UINT8},
                                              {ir::DType::kBool, onnx::TensorProto::BOOL},
                                              {ir::DType::kF32, onnx::TensorProto::FLOAT}};
  message.set_data_type(types.at(tensor.type.dtype));
  for (const int64_t extent : tensor.type.shape) message.add_dims(extent);
  message.set_raw_data(tensor.data->data(), tensor.data->size());
  return message;
}

}  // namespace pantoum
