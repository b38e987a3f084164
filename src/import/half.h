// Numbers of two bytes: IEEE 754 binary16 (ONNX FLOAT16) and the upper half of binary32 (BFLOAT16).
#pragma once

#include <cstdint>

namespace pantoum::import {

// Exact; a NaN stays one.
[[nodiscard]] float from_half(uint16_t bits);
[[nodiscard]] float from_bfloat16(uint16_t bits);

// To nearest, ties to even; what is too large becomes infinite.
[[nodiscard]] uint16_t to_half(float value);
[[nodiscard]] uint16_t to_bfloat16(float value);

}  // namespace pantoum::import
