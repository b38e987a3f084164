#include "import/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "import/onnx_messages.h"
#include "kernels/portable/pt_integer.h"

namespace pantoum::import {

namespace {

constexpr int kFraction = 10, kBias = 15, kLeast = -24;  // a half's fraction bits, exponent bias, least power of two
constexpr uint16_t kSign = 0x8000, kInfinite = 0x7c00, kQuiet = 0x0200;

}  // namespace

float from_half(uint16_t bits) {
  const int exponent = (bits & kInfinite) >> kFraction;
  const int fraction = bits & 0x03ff;
  const float sign = (bits & kSign) != 0 ? -1.0F : 1.0F;
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), kLeast);
  if (exponent < 31) return sign * std::ldexp(static_cast<float>(fraction + 1024), exponent - kBias - kFraction);
  return fraction == 0 ? sign * HUGE_VALF : std::copysign(NAN, sign);
}

float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

uint16_t to_half(float value) {
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? kSign : 0);
  if (std::isnan(value)) return static_cast<uint16_t>(sign | kInfinite | kQuiet);
  const float size = std::fabs(value);
  if (size >= 65520) return static_cast<uint16_t>(sign | kInfinite);
  // The exponent of the last bit that a half of this size has; in its units the value is rounded to an integer.
  const int unit = size == 0 ? kLeast : std::max(std::ilogb(size) - kFraction, kLeast);
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(size, -unit)));
  // From 2^10 units on the leading bit adds 1 to the exponent; this is also right if rounding carried into that bit.
  const uint32_t above = unit == kLeast ? 0 : static_cast<uint32_t>(unit - kLeast) << kFraction;
  return static_cast<uint16_t>(sign | (above + units));
}

uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x0040);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

namespace {

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

// Calls `visit` with an element of the C++ type that holds one of the dtype; a bool is a byte.
template <class Visit>
auto by_type(DType dtype, const Visit& visit) {
  switch (dtype) {
    case DType::kF32:
      return visit(float{});
    case DType::kF64:
      return visit(double{});
    case DType::kI64:
      return visit(int64_t{});
    case DType::kI32:
      return visit(int32_t{});
    default:
      return visit(uint8_t{});
  }
}

// The typed field of a message that holds elements of this type.
const auto& typed_field(const Message& message, float) {
  return message.float_data();
}
const auto& typed_field(const Message& message, double) {
  return message.double_data();
}
const auto& typed_field(const Message& message, int64_t) {
  return message.int64_data();
}
template <class Small>
const auto& typed_field(const Message& message, Small) {
  return message.int32_data();
}

void free_contents(Message& message) {
  message.clear_raw_data();
  message.clear_float_data();
  message.clear_double_data();
  message.clear_int64_data();
  message.clear_int32_data();
}

// Where contents come from that are not in a message's typed fields.
struct Source {
  ExternalData& external;
  const ir::Data& kept;
  const std::string& where;
};

Failure other_size(int64_t bytes, size_t held, const std::string& where) {
  return fail("E0205", fmt::format("a tensor of {} bytes holds {}", bytes, held), where);
}

// Bytes as they lie in a file, `bytes` of them. Null: the message has a typed field in their place.
Result<ir::Data> raw_contents(const Message& message, int64_t bytes, const Source& source) {
  if (message.data_location() == Message::EXTERNAL) return source.external.read(message, bytes, source.where);
  if (source.kept) {
    if (static_cast<int64_t>(source.kept->size()) != bytes) return other_size(bytes, source.kept->size(), source.where);
    return source.kept;
  }
  if (message.has_raw_data()) {
    const std::string& raw = message.raw_data();
    if (static_cast<int64_t>(raw.size()) != bytes) return other_size(bytes, raw.size(), source.where);
    auto data = std::make_shared<std::vector<std::byte>>(raw.size());
    if (!raw.empty()) std::memcpy(data->data(), raw.data(), raw.size());
    return data;
  }
  return ir::Data();
}

Result<ir::Data> contents(const Message& message, const TensorType& type, int64_t count, const Source& source) {
  PANTOUM_ASSIGN(ir::Data raw, raw_contents(message, count * ir::size_of(type.dtype), source));
  if (raw) return raw;
  return by_type(type.dtype, [&](auto element) -> Result<ir::Data> {
    const auto& field = typed_field(message, element);
    if (field.size() == count) return pack<decltype(element)>(field);
    return fail("E0205", fmt::format("a tensor of {} elements holds {}", count, field.size()), source.where);
  });
}

bool is_half(int32_t onnx_type) {
  return onnx_type == Message::FLOAT16 || onnx_type == Message::BFLOAT16;
}

// Numbers of two bytes as float32.
Result<ir::Data> widened_contents(const Message& message, int64_t count, const Source& source) {
  PANTOUM_ASSIGN(ir::Data raw, raw_contents(message, count * 2, source));
  if (!raw) {
    const int64_t held = message.int32_data_size();
    if (held != count) return fail("E0205", fmt::format("a tensor of {} elements holds {}", count, held), source.where);
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
  auto clean = std::make_shared<std::vector<std::byte>>(data.copy());
  for (std::byte& value : *clean) value = std::byte{value != std::byte{0}};
  data = std::move(clean);
}

template <class Value>
ir::Data narrow(DType dtype, const std::vector<Value>& values) {
  if (dtype != DType::kBool) return by_type(dtype, [&](auto element) { return pack<decltype(element)>(values); });
  std::vector<uint8_t> bools(values.size());
  std::ranges::transform(values, bools.begin(), [](Value value) { return value != Value{0}; });
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

std::optional<int64_t> count_elements(const Shape& shape) {
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

Result<Tensor> read_tensor(Message& message, ExternalData& external, const std::string& where, const ir::Data& kept) {
  const Source source{external, kept, where};
  const std::optional<DType> dtype = dtype_of(message.data_type());
  if (!dtype) {
    return fail("E0401", fmt::format("{} tensors are not supported", onnx_type_name(message.data_type())), where,
                "export the model in float32");
  }
  if (message.has_segment()) return fail("E0205", "a tensor in segments is not supported", where);
  Tensor tensor{{*dtype, Shape(message.dims().begin(), message.dims().end())}, nullptr};
  const std::optional<int64_t> count = count_elements(tensor.type.shape);
  if (!count) return fail("E0205", fmt::format("a tensor has the shape {}", ir::to_text(tensor.type.shape)), where);
  if (is_half(message.data_type())) {
    PANTOUM_ASSIGN(tensor.data, widened_contents(message, *count, source));
  } else {
    PANTOUM_ASSIGN(tensor.data, contents(message, tensor.type, *count, source));
  }
  if (*dtype == DType::kBool) normalize_bools(tensor.data);
  free_contents(message);
  return tensor;
}

bool is_converted(int32_t onnx_type) {
  return is_half(onnx_type) || onnx_type == Message::DOUBLE;
}

std::vector<std::byte> converted_back(int32_t onnx_type, std::span<const std::byte> floats) {
  std::vector<float> values(floats.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), floats.data(), floats.size());
  if (onnx_type == Message::DOUBLE) return pack<double>(values).copy();
  std::vector<uint16_t> halves;
  halves.reserve(values.size());
  for (const float value : values)
    halves.push_back(onnx_type == Message::FLOAT16 ? to_half(value) : to_bfloat16(value));
  return pack<uint16_t>(halves).copy();
}

Result<Tensor> read_constant(const Message& message, const std::string& where) {
  Message copy = message;
  ExternalData none("", false);
  return read_tensor(copy, none, where);
}

std::optional<Integers> to_ints(const Tensor& tensor) {
  if (ir::is_float(tensor.type.dtype)) return std::nullopt;
  return by_type(tensor.type.dtype, [&](auto element) { return unpack<decltype(element), int64_t>(tensor); });
}

std::optional<std::vector<double>> to_reals(const Tensor& tensor) {
  if (!ir::is_float(tensor.type.dtype)) return std::nullopt;
  return by_type(tensor.type.dtype, [&](auto element) { return unpack<decltype(element), double>(tensor); });
}

bool is_filled_with(const Tensor& tensor, double value) {
  return is_filled_with(tensor, 0, static_cast<size_t>(tensor.type.elements()), value);
}

bool is_filled_with(const Tensor& tensor, size_t begin, size_t count, double value) {
  if (!ir::is_float(tensor.type.dtype)) return false;
  return by_type(tensor.type.dtype, [&](auto element) {
    const std::byte* at = tensor.data->data() + begin * sizeof element;
    for (size_t left = count; left > 0; --left, at += sizeof element) {
      std::memcpy(&element, at, sizeof element);
      if (static_cast<double>(element) != value) return false;
    }
    return true;
  });
}

Tensor make_tensor(DType dtype, Shape shape, const Integers& values) {
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

Tensor make_tensor(DType dtype, Shape shape, const std::vector<double>& values) {
  if (ir::is_float(dtype)) return {{dtype, std::move(shape)}, narrow(dtype, values)};
  Integers whole;
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
