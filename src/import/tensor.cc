#include "import/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "import/half.h"
#include "import/onnx_messages.h"
#include "kernels/portable/pt_integer.h"

namespace pantoum::import {
namespace {

using ir::DType;
using Message = onnx::TensorProto;

template <class To, class Values>
ir::Data pack(const Values& values) {
  auto data = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(values.size()) * sizeof(To));
  std::byte* at = data->data();
  for (const auto& value : values) {
    const To narrow = static_cast<To>(value);
    std::memcpy(at, &narrow, sizeof(To));
    at += sizeof(To);
  }
  return data;
}

template <class From, class To>
std::vector<To> unpack(const Tensor& tensor) {
  std::vector<To> values(tensor.data->size() / sizeof(From));
  for (size_t element = 0; element < values.size(); ++element) {
    From value;
    std::memcpy(&value, tensor.data->data() + element * sizeof(From), sizeof(From));
    values[element] = static_cast<To>(value);
  }
  return values;
}

// How many elements the typed field of the message holds.
int64_t typed_count(const Message& message, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return message.float_data_size();
    case DType::kF64:
      return message.double_data_size();
    case DType::kI64:
      return message.int64_data_size();
    default:
      return message.int32_data_size();
  }
}

ir::Data typed_data(const Message& message, DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return pack<float>(message.float_data());
    case DType::kF64:
      return pack<double>(message.double_data());
    case DType::kI64:
      return pack<int64_t>(message.int64_data());
    case DType::kI32:
      return pack<int32_t>(message.int32_data());
    default:
      return pack<uint8_t>(message.int32_data());
  }
}

void free_contents(Message& message) {
  message.clear_raw_data();
  message.clear_float_data();
  message.clear_double_data();
  message.clear_int64_data();
  message.clear_int32_data();
}

// Bytes as they lie in a file: `count` elements of `element_bytes`. Null: the message has a typed field in their place.
Result<ir::Data> raw_contents(const Message& message, int64_t bytes, ExternalData& external, const std::string& where) {
  if (message.data_location() == Message::EXTERNAL) return external.read(message, bytes, where);
  if (message.has_raw_data()) {
    const std::string& raw = message.raw_data();
    if (static_cast<int64_t>(raw.size()) != bytes) {
      return fail("E0205", fmt::format("a tensor of {} bytes holds {}", bytes, raw.size()), where);
    }
    auto data = std::make_shared<std::vector<std::byte>>(raw.size());
    if (!raw.empty()) std::memcpy(data->data(), raw.data(), raw.size());
    return data;
  }
  return ir::Data();
}

Result<ir::Data> contents(const Message& message, const ir::TensorType& type, int64_t count, ExternalData& external,
                          const std::string& where) {
  PANTOUM_ASSIGN(ir::Data raw, raw_contents(message, count * ir::size_of(type.dtype), external, where));
  if (raw) return raw;
  const int64_t held = typed_count(message, type.dtype);
  if (held != count) return fail("E0205", fmt::format("a tensor of {} elements holds {}", count, held), where);
  return typed_data(message, type.dtype);
}

bool is_half(int32_t onnx_type) {
  return onnx_type == Message::FLOAT16 || onnx_type == Message::BFLOAT16;
}

// Numbers of two bytes as float32.
Result<ir::Data> widened_contents(const Message& message, int64_t count, ExternalData& external,
                                  const std::string& where) {
  PANTOUM_ASSIGN(ir::Data raw, raw_contents(message, count * 2, external, where));
  if (!raw) {
    const int64_t held = message.int32_data_size();
    if (held != count) return fail("E0205", fmt::format("a tensor of {} elements holds {}", count, held), where);
    raw = pack<uint16_t>(message.int32_data());
  }
  std::vector<float> values;
  values.reserve(static_cast<size_t>(count));
  for (size_t at = 0; at < raw->size(); at += 2) {
    uint16_t bits = 0;
    std::memcpy(&bits, raw->data() + at, sizeof bits);
    values.push_back(message.data_type() == Message::FLOAT16 ? from_half(bits) : from_bfloat16(bits));
  }
  return pack<float>(values);
}

// A byte other than 0 and 1 in a bool would be undefined later.
void normalize_bools(ir::Data& data) {
  auto clean = std::make_shared<std::vector<std::byte>>(*data);
  for (std::byte& value : *clean) value = std::byte{value != std::byte{0}};
  data = std::move(clean);
}

template <class Value>
ir::Data narrow(DType dtype, const std::vector<Value>& values) {
  switch (dtype) {
    case DType::kF32:
      return pack<float>(values);
    case DType::kF64:
      return pack<double>(values);
    case DType::kI64:
      return pack<int64_t>(values);
    case DType::kI32:
      return pack<int32_t>(values);
    case DType::kU8:
      return pack<uint8_t>(values);
    case DType::kBool:
      break;
  }
  std::vector<uint8_t> bools;
  bools.reserve(values.size());
  for (const Value value : values) bools.push_back(value != Value{0});
  return pack<uint8_t>(bools);
}

}  // namespace

std::optional<DType> dtype_of(int32_t onnx_type) {
  switch (onnx_type) {
    case Message::FLOAT:
    case Message::FLOAT16:
    case Message::BFLOAT16:
      return DType::kF32;
    case Message::DOUBLE:
      return DType::kF64;
    case Message::INT64:
      return DType::kI64;
    case Message::INT32:
      return DType::kI32;
    case Message::UINT8:
      return DType::kU8;
    case Message::BOOL:
      return DType::kBool;
    default:
      return std::nullopt;
  }
}

std::string onnx_type_name(int32_t onnx_type) {
  if (!onnx::TensorProto_DataType_IsValid(onnx_type)) return fmt::format("element type {}", onnx_type);
  std::string name = onnx::TensorProto_DataType_Name(static_cast<onnx::TensorProto_DataType>(onnx_type));
  for (char& letter : name) letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter - 'A' + 'a' : letter);
  return name;
}

std::optional<int64_t> count_elements(const ir::Shape& shape) {
  constexpr int64_t kMost = int64_t{1} << 40;
  int64_t count = 1;
  bool empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      empty = true;
    } else if (extent > kMost / count) {
      return std::nullopt;
    } else {
      count *= extent;
    }
  }
  return empty ? 0 : count;
}

Result<Tensor> read_tensor(Message& message, ExternalData& external, const std::string& where) {
  const std::optional<DType> dtype = dtype_of(message.data_type());
  if (!dtype) {
    return fail("E0401", fmt::format("{} tensors are not supported", onnx_type_name(message.data_type())), where,
                "export the model in float32");
  }
  if (message.has_segment()) return fail("E0205", "a tensor in segments is not supported", where);
  Tensor tensor{{*dtype, ir::Shape(message.dims().begin(), message.dims().end())}, nullptr};
  const std::optional<int64_t> count = count_elements(tensor.type.shape);
  if (!count) return fail("E0205", fmt::format("a tensor has the shape {}", ir::to_text(tensor.type.shape)), where);
  if (is_half(message.data_type())) {
    PANTOUM_ASSIGN(tensor.data, widened_contents(message, *count, external, where));
  } else {
    PANTOUM_ASSIGN(tensor.data, contents(message, tensor.type, *count, external, where));
  }
  if (*dtype == DType::kBool) normalize_bools(tensor.data);
  free_contents(message);
  return tensor;
}

bool is_converted(int32_t onnx_type) {
  return is_half(onnx_type) || onnx_type == Message::DOUBLE;
}

std::vector<std::byte> converted_back(int32_t onnx_type, const std::vector<std::byte>& floats) {
  std::vector<float> values(floats.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), floats.data(), floats.size());
  if (onnx_type == Message::DOUBLE) return *pack<double>(values);
  std::vector<uint16_t> halves;
  halves.reserve(values.size());
  for (const float value : values)
    halves.push_back(onnx_type == Message::FLOAT16 ? to_half(value) : to_bfloat16(value));
  return *pack<uint16_t>(halves);
}

Result<Tensor> read_constant(const Message& message, const std::string& where) {
  Message copy = message;
  ExternalData none("", false);
  return read_tensor(copy, none, where);
}

std::optional<std::vector<int64_t>> to_ints(const Tensor& tensor) {
  switch (tensor.type.dtype) {
    case DType::kI64:
      return unpack<int64_t, int64_t>(tensor);
    case DType::kI32:
      return unpack<int32_t, int64_t>(tensor);
    case DType::kU8:
    case DType::kBool:
      return unpack<uint8_t, int64_t>(tensor);
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<double>> to_reals(const Tensor& tensor) {
  if (tensor.type.dtype == DType::kF32) return unpack<float, double>(tensor);
  if (tensor.type.dtype == DType::kF64) return unpack<double, double>(tensor);
  return std::nullopt;
}

bool is_filled_with(const Tensor& tensor, double value) {
  const auto reals = to_reals(tensor);
  return reals && std::ranges::all_of(*reals, [&](double element) { return element == value; });
}

Tensor make_tensor(DType dtype, ir::Shape shape, const std::vector<int64_t>& values) {
  return {{dtype, std::move(shape)}, narrow(dtype, values)};
}

int64_t whole_within(DType dtype, double value) {
  switch (dtype) {
    case DType::kBool:
      return value != 0;
    case DType::kU8:
      return pt_whole_of(value, 0, UINT8_MAX);
    case DType::kI32:
      return pt_whole_of(value, INT32_MIN, INT32_MAX);
    default:
      return pt_whole_of(value, INT64_MIN, INT64_MAX);
  }
}

Tensor make_tensor(DType dtype, ir::Shape shape, const std::vector<double>& values) {
  if (ir::is_float(dtype)) return {{dtype, std::move(shape)}, narrow(dtype, values)};
  std::vector<int64_t> whole;
  whole.reserve(values.size());
  for (const double value : values) whole.push_back(whole_within(dtype, value));
  return {{dtype, std::move(shape)}, narrow(dtype, whole)};
}

Tensor rounded_as(int64_t onnx_type, const Tensor& tensor) {
  std::vector<double> values = *to_reals(tensor);
  for (double& value : values) {
    const auto wide = static_cast<float>(value);
    value = onnx_type == Message::FLOAT16 ? from_half(to_half(wide)) : from_bfloat16(to_bfloat16(wide));
  }
  return make_tensor(tensor.type.dtype, tensor.type.shape, values);
}

Tensor converted(const Tensor& tensor, DType dtype) {
  if (const auto reals = to_reals(tensor)) return make_tensor(dtype, tensor.type.shape, *reals);
  return make_tensor(dtype, tensor.type.shape, *to_ints(tensor));
}

}  // namespace pantoum::import
