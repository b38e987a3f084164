#include "layers/types.h"

#include <fmt/format.h>

#include "import/onnx_messages.h"

namespace pantoum::layers {

Shape shown(const KnownType& type) {
  Shape shape = type.shapes[0];
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != type.shapes[1][d]) shape[d] = kBatch;
  return shape;
}

std::string to_text(const Shape& shape) {
  std::string text;
  for (const int64_t extent : shape)
    text += (text.empty() ? "" : ",") + (extent == kBatch ? "N" : std::to_string(extent));
  return "[" + text + "]";
}

std::string to_text(const KnownType& type) {
  return std::string(name_of(type.dtype)) + to_text(shown(type));
}

std::optional<int64_t> count_of(const Shape& shape, int64_t most) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (extent < 1 || extent > most / count) return std::nullopt;
    count *= extent;
  }
  return count;
}

KnownType fixed_type(DType dtype, const Shape& shape) {
  return {dtype, {shape, shape}};
}

KnownType batch_type(DType dtype, const Shape& shape) {
  KnownType type = fixed_type(dtype, shape);
  for (size_t which = 0; which < kBatches.size(); ++which)
    for (int64_t& extent : type.shapes[which])
      if (extent == kBatch) extent = kBatches[which];
  return type;
}

int32_t onnx_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return onnx::TensorProto::FLOAT;
    case DType::i64:
      return onnx::TensorProto::INT64;
    case DType::i32:
      return onnx::TensorProto::INT32;
    case DType::u8:
      return onnx::TensorProto::UINT8;
    case DType::boolean:
      return onnx::TensorProto::BOOL;
  }
  return onnx::TensorProto::UNDEFINED;
}

}  // namespace pantoum::layers
