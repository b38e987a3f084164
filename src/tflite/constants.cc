#include "tflite/constants.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>

namespace pantoum::tflite {
namespace {

using schema::TensorType;

static_assert(std::endian::native == std::endian::little, "contents lie in a file in little-endian order");

constexpr int64_t kMostElements = int64_t{1} << 30;

// Of an f16 by its bits.
float to_float(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const auto fraction = static_cast<float>(half & 1023);
  float value = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
  if (exponent == 31)
    value = fraction == 0 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
  return half >> 15 != 0 ? -value : value;
}

// The elements of these bytes, which hold a whole number of them.
template <class Stored, class Made, class Convert>
std::vector<Made> elements_of(std::string_view bytes, Convert convert) {
  std::vector<Made> made(bytes.size() / sizeof(Stored));
  for (size_t at = 0; at < made.size(); ++at) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + at * sizeof(Stored), sizeof(Stored));
    made[at] = static_cast<Made>(convert(stored));
  }
  return made;
}

template <class Stored>
std::vector<int64_t> integers_of(std::string_view bytes) {
  return elements_of<Stored, int64_t>(bytes, [](Stored stored) { return stored; });
}

size_t bytes_of_element(TensorType type) {
  switch (type) {
    case TensorType::FLOAT32:
    case TensorType::INT32:
      return 4;
    case TensorType::FLOAT16:
    case TensorType::INT16:
      return 2;
    case TensorType::INT8:
    case TensorType::UINT8:
      return 1;
    case TensorType::INT64:
      return 8;
    default:
      return 0;  // of types that are not read
  }
}

std::vector<int64_t> integers_of(TensorType type, std::string_view bytes) {
  switch (type) {
    case TensorType::INT8:
      return integers_of<int8_t>(bytes);
    case TensorType::UINT8:
      return integers_of<uint8_t>(bytes);
    case TensorType::INT16:
      return integers_of<int16_t>(bytes);
    case TensorType::INT32:
      return integers_of<int32_t>(bytes);
    default:
      return integers_of<int64_t>(bytes);
  }
}

// None where an extent is below 1, or the product is out of bounds.
std::optional<int64_t> product_of(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent < 1 || extent > kMostElements / product) return std::nullopt;
    product *= extent;
  }
  return product;
}

}  // namespace

Failure Constants::refused(int tensor, const std::string& problem) const {
  return fail("E0215", fmt::format("tensor {} '{}': {}", tensor, file_.name_of(tensor), problem), file_.where(),
              "convert or download the model again");
}

Result<std::vector<int64_t>> Constants::integers(int tensor) const {
  const TensorType type = file_.tensor(tensor).type();
  const std::string_view bytes = file_.contents_of(tensor);
  if (bytes.empty()) return refused(tensor, "it sets an operator and is computed; only constants do");
  if (type != TensorType::INT32 && type != TensorType::INT64)
    return refused(tensor, "it sets an operator and is not of type INT32 or INT64");
  if (bytes.size() % bytes_of_element(type) != 0 || bytes.size() > 4096)
    return refused(tensor, "it is no list of integers that sets an operator");
  return integers_of(type, bytes);
}

Result<std::vector<float>> Constants::by_scales(int tensor, const Constant& made, std::vector<int64_t> values) {
  const schema::Quantization* quantization = file_.tensor(tensor).quantization();
  const auto* scales = quantization == nullptr ? nullptr : quantization->scale();
  if (scales == nullptr || scales->size() == 0) return refused(tensor, "it has integers without a scale");
  const auto* zeros = quantization->zero_point();
  const size_t zero_count = zeros == nullptr ? 0 : zeros->size();
  const auto axis = static_cast<size_t>(std::max(quantization->axis(), 0));
  const bool by_axis = scales->size() > 1;
  if (by_axis && (quantization->axis() < 0 || axis >= made.shape.size() ||
                  made.shape[axis] != static_cast<int64_t>(scales->size())))
    return refused(tensor, "its scales do not fit its shape");
  if (zero_count > 1 && zero_count != scales->size()) return refused(tensor, "its zero points do not fit its scales");
  size_t behind = 1;  // elements from one position of the axis to the next
  for (size_t d = axis + 1; by_axis && d < made.shape.size(); ++d) behind *= static_cast<size_t>(made.shape[d]);
  std::vector<float> elements(values.size());
  for (size_t at = 0; at < values.size(); ++at) {
    const auto place = static_cast<flatbuffers::uoffset_t>(by_axis ? at / behind % scales->size() : 0);
    const int64_t zero = zero_count == 0 ? 0 : zeros->Get(zero_count == 1 ? 0 : place);
    elements[at] = scales->Get(place) * static_cast<float>(static_cast<double>(values[at]) - static_cast<double>(zero));
  }
  ++scaled_;
  return elements;
}

Result<Constant> Constants::reals(int tensor) {
  const schema::Tensor& stored = file_.tensor(tensor);
  const std::string_view bytes = file_.contents_of(tensor);
  const size_t each = bytes_of_element(stored.type());
  if (stored.sparsity() != nullptr)
    return fail("E0401", fmt::format("tensor '{}' is sparse", file_.name_of(tensor)), file_.where(),
                "take the file that has its weights dense");
  if (each == 0)
    return fail("E0401",
                fmt::format("tensor '{}' is of type {}, and FLOAT32, FLOAT16, INT8, UINT8, INT16, INT32 and INT64 "
                            "are read",
                            file_.name_of(tensor), schema::EnumNameTensorType(stored.type())),
                file_.where(), "convert the model with weights of one of these types");
  Constant made{.shape = file_.shape_of(tensor), .elements = {}};
  const std::optional<int64_t> count = product_of(made.shape);
  if (!count || static_cast<uint64_t>(*count) * each != bytes.size())
    return refused(tensor,
                   fmt::format("its shape [{}] and its {} bytes do not fit", fmt::join(made.shape, ","), bytes.size()));
  if (bytes.size() > left_) return refused(tensor, "its contents stand in the file for many tensors");
  left_ -= bytes.size();
  if (stored.type() == TensorType::FLOAT32) {
    made.elements = elements_of<float, float>(bytes, [](float element) { return element; });
  } else if (stored.type() == TensorType::FLOAT16) {
    made.elements = elements_of<uint16_t, float>(bytes, to_float);
    ++halves_;
  } else {
    PANTOUM_ASSIGN(made.elements, by_scales(tensor, made, integers_of(stored.type(), bytes)));
  }
  for (const float element : made.elements)
    if (std::isnan(element)) return refused(tensor, "an element is no number");
  return made;
}

}  // namespace pantoum::tflite
