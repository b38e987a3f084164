// Arithmetic that errs to a known side: what is rounded down never exceeds the exact value.
#pragma once

#include <cmath>
#include <cstdint>

namespace pantoum::check {

[[nodiscard]] inline double down(double value) {
  return std::nextafter(value, -HUGE_VAL);
}
[[nodiscard]] inline double up(double value) {
  return std::nextafter(value, HUGE_VAL);
}

// a + b, at most or at least it; exact where it can be (the lost part of a sum of two is itself a double).
[[nodiscard]] inline double sum_down(double a, double b) {
  const double sum = a + b, from_b = sum - a, lost = (a - (sum - from_b)) + (b - from_b);
  return lost < 0 ? down(sum) : sum;
}
[[nodiscard]] inline double sum_up(double a, double b) {
  return -sum_down(-a, -b);
}

// A count as a double, at most or at least it.
[[nodiscard]] inline double at_most(int64_t count) {
  const auto value = static_cast<double>(count);
  return std::abs(value) <= 0x1p53 ? value : down(value);
}
[[nodiscard]] inline double at_least(int64_t count) {
  return -at_most(-count);
}

}  // namespace pantoum::check
