// Element types and their sizes.
#pragma once

#include <cstdint>
#include <string_view>

#include "pantoum/ops.h"

namespace pantoum::base {

enum class DType : uint8_t { kF32 = PT_F32, kI64 = PT_I64, kI32 = PT_I32, kU8 = PT_U8, kBool = PT_BOOL, kF64 = PT_F64 };

// Bytes of one element.
[[nodiscard]] int64_t size_of(DType dtype);
// "f32", "i64", ...
[[nodiscard]] std::string_view name_of(DType dtype);
[[nodiscard]] inline bool is_float(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64;
}

}  // namespace pantoum::base
