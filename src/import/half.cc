#include "import/half.h"

#include <algorithm>
#include <bit>
#include <cmath>

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
  // From 2^10 units on the leading one adds to the exponent, also where rounding carried into it.
  const uint32_t above = unit == kLeast ? 0 : static_cast<uint32_t>(unit - kLeast) << kFraction;
  return static_cast<uint16_t>(sign | (above + units));
}

uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>((bits >> 16) | 0x0040);
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace pantoum::import
