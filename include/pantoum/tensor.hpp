// Element types, and a view of a tensor in memory that the view does not own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

namespace pantoum {

// The type of a tensor's elements; booleans are bytes, 0 or 1.
enum class DType : uint8_t { f32, i64, i32, u8, boolean };

// Returns the bytes of one element.
[[nodiscard]] constexpr std::size_t element_size(DType dtype) noexcept {
  switch (dtype) {
    case DType::i64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::u8:
    case DType::boolean:
      return 1;
  }
  return 0;
}

// Returns the name of the type: "f32", "i64", "i32", "u8", "bool".
[[nodiscard]] constexpr std::string_view name_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::i64:
      return "i64";
    case DType::i32:
      return "i32";
    case DType::u8:
      return "u8";
    case DType::boolean:
      return "bool";
  }
  return "?";
}

// Returns whether elements of `dtype` have the C++ type T (const or not). Booleans may be read as bytes.
template <class T>
[[nodiscard]] constexpr bool holds(DType dtype) noexcept {
  using Element = std::remove_cv_t<T>;
  switch (dtype) {
    case DType::f32:
      return std::is_same_v<Element, float>;
    case DType::i64:
      return std::is_integral_v<Element> && std::is_signed_v<Element> && sizeof(Element) == 8;
    case DType::i32:
      return std::is_integral_v<Element> && std::is_signed_v<Element> && sizeof(Element) == 4;
    case DType::u8:
      return std::is_same_v<Element, uint8_t>;
    case DType::boolean:
      return std::is_same_v<Element, uint8_t> || std::is_same_v<Element, bool>;
  }
  return false;
}

// A view of a named tensor. The view does not own the tensor's memory, and is valid as long as that memory. A copy of the view copies no element.
struct TensorView {
  std::string_view name;
  DType dtype = DType::f32;
  std::span<const int64_t> shape;
  std::span<std::byte> data;  // row-major, element_size(dtype) bytes each

  // Returns the elements as T, for reading and writing. Returns an empty span if T is not the type of the elements, if the bytes are not a whole
  // number of elements, or if they are not aligned for T.
  template <class T>
  [[nodiscard]] std::span<T> as() const noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(data.data());
    if (!holds<T>(dtype) || data.size() % sizeof(T) != 0 || address % alignof(T) != 0) return {};
    return {reinterpret_cast<T*>(data.data()), data.size() / sizeof(T)};
  }
};

}  // namespace pantoum
