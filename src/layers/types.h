// What is known of a value while a model is built.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pantoum/model_builder.hpp"

namespace pantoum::layers {

using Shape = std::vector<int64_t>;
using Bytes = std::vector<std::byte>;

// Shapes are computed for two batches: what differs depends on the batch. Two primes that few programs name as an extent.
inline constexpr std::array<int64_t, 2> kBatches = {61, 67};
// An extent that the batch decides, as shapes that users see have it.
inline constexpr int64_t kBatch = -1;
// Extents and sizes above this are refused before anything is computed with them.
inline constexpr int64_t kMostExtent = INT32_MAX;
// What an ONNX file holds, less what is not elements.
inline constexpr int64_t kMostParameterBytes = (int64_t{1} << 31) - (int64_t{1} << 24);
// Contents of computed values are kept up to so many elements: what gives shapes, positions and sizes is short.
inline constexpr size_t kMostKnown = 4096;

struct KnownType {
  DType dtype = DType::f32;
  std::array<Shape, kBatches.size()> shapes;                                // by batch
  std::array<std::shared_ptr<const Bytes>, kBatches.size()> contents = {};  // null: they depend on data, or are many
};

// With -1 where the extent depends on the batch.
[[nodiscard]] Shape shown(const KnownType& type);
// "f32[N,3,8]".
[[nodiscard]] std::string to_text(const KnownType& type);
[[nodiscard]] std::string to_text(const Shape& shape);
// The product of the extents; nothing where one is below 1 or the product above `most`.
[[nodiscard]] std::optional<int64_t> count_of(const Shape& shape, int64_t most);
// The same extents for every batch.
[[nodiscard]] KnownType fixed_type(DType dtype, const Shape& shape);
// Where a shape has -1, each batch.
[[nodiscard]] KnownType batch_type(DType dtype, const Shape& shape);

// A number of ONNX's list of element types, and back.
[[nodiscard]] int32_t onnx_type(DType dtype);

}  // namespace pantoum::layers
