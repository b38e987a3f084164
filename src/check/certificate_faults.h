// What is said of a certificate that does not hold, and how far rounding excuses a bound.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/result.h"

namespace pantoum::check {

inline constexpr double kTolerance = 1e-9;      // of bounds, relative
inline constexpr double kMostQuantity = 1e100;  // no sum overflows

[[nodiscard]] inline Failure broken(std::string what, std::string where = {}) {
  return fail("E0805", std::move(what), "x-certificate" + std::move(where));
}

// a > b, by more than rounding explains.
[[nodiscard]] inline bool above(double a, double b) {
  return !(a <= b + kTolerance * std::max(std::abs(a), std::abs(b)));
}

}  // namespace pantoum::check
