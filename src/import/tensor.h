// A tensor whose contents are known while importing: an initializer, a constant, a folded value.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "import/external_data.h"
#include "import/onnx_proto.h"
#include "import/shapes.h"

namespace pantoum::import {

// Dense and row-major; `data` is never null and holds type.bytes() bytes. A dimension may be 0.
struct Tensor {
  TensorType type;
  ir::Data data;
};

// The element type of Pantoum for one of ONNX; none: not supported. float16 and bfloat16 are read as float32; float64
// stays while importing, where shapes and settings are folded, and is float32 in the graph (runtime_dtype).
[[nodiscard]] std::optional<DType> dtype_of(int32_t onnx_type);
[[nodiscard]] inline DType runtime_dtype(DType dtype) {
  return dtype == DType::kF64 ? DType::kF32 : dtype;
}
// Does the graph compute in float32 what the model has in another floating-point type?
[[nodiscard]] bool is_converted(int32_t onnx_type);
// float32 elements as the model's own type stores them (of is_converted), rounded to nearest.
[[nodiscard]] std::vector<std::byte> converted_back(int32_t onnx_type, std::span<const std::byte> floats);
// "float16", ...: ONNX's name, for messages.
[[nodiscard]] std::string onnx_type_name(int32_t onnx_type);

// The number of elements, or none when a dimension is negative or the product exceeds 2^40.
[[nodiscard]] std::optional<int64_t> count_elements(const Shape& shape);

// E0205 for a damaged message (sizes that do not fit its data), E0206 for external data, E0401 for an element type that
// Pantoum does not have. Frees the message's own copy of the data. `kept`: raw contents that are not in the message (message_parts.h).
[[nodiscard]] Result<Tensor> read_tensor(onnx::TensorProto& message, ExternalData& external, const std::string& where,
                                         const ir::Data& kept = nullptr);

// The same for a constant inside the model: a copy, and no external data.
[[nodiscard]] Result<Tensor> read_constant(const onnx::TensorProto& message, const std::string& where);

// Elements widened; none when the tensor holds the other family of types.
[[nodiscard]] std::optional<Integers> to_ints(const Tensor& tensor);
[[nodiscard]] std::optional<std::vector<double>> to_reals(const Tensor& tensor);

// Floating-point contents every element of which is `value`.
[[nodiscard]] bool is_filled_with(const Tensor& tensor, double value);
// The same of `count` elements from `begin` on, which the tensor has.
[[nodiscard]] bool is_filled_with(const Tensor& tensor, size_t begin, size_t count, double value);

// What a floating-point number becomes in an integer type: towards zero, clamped to what the type holds, NaN is 0; in
// bool, whether it is not 0. As the kernel of cast has it.
[[nodiscard]] int64_t whole_within(DType dtype, double value);

// Elements narrowed to the dtype (integers wrap, floating-point numbers are clamped, bool is != 0); the counts must fit.
[[nodiscard]] Tensor make_tensor(DType dtype, Shape shape, const Integers& values);
[[nodiscard]] Tensor make_tensor(DType dtype, Shape shape, const std::vector<double>& values);

// float32 elements with the values that they have in float16 or bfloat16.
[[nodiscard]] Tensor rounded_as(int64_t onnx_type, const Tensor& tensor);
// The same elements in another type, narrowed as above.
[[nodiscard]] Tensor converted(const Tensor& tensor, DType dtype);

// Numbers of two bytes: IEEE 754 binary16 (ONNX FLOAT16) and the upper half of binary32 (BFLOAT16).

// Exact; a NaN stays one.
[[nodiscard]] float from_half(uint16_t bits);
[[nodiscard]] float from_bfloat16(uint16_t bits);

// Rounded to nearest, ties to even; numbers that are too large become infinite.
[[nodiscard]] uint16_t to_half(float value);
[[nodiscard]] uint16_t to_bfloat16(float value);

}  // namespace pantoum::import
