// Sums of seconds and joules, rounded to the nearest double or to a known side of the exact value.
#pragma once

#include <algorithm>
#include <cstdint>

#include "check/directed.h"

namespace pantoum::check {

enum class Rounding { kNearest, kDown, kUp };

// Of numbers that are not negative: sums and maxima of results to one side are on that side.
class Rounded {
 public:
  explicit Rounded(Rounding to) : to_(to) {}

  [[nodiscard]] bool nearest() const { return to_ == Rounding::kNearest; }
  [[nodiscard]] double sum(double a, double b) const {
    return to_ == Rounding::kNearest ? a + b : to_ == Rounding::kDown ? sum_down(a, b) : sum_up(a, b);
  }
  [[nodiscard]] double product(double a, double b) const { return a == 0 || b == 0 ? 0 : aside(a * b); }
  [[nodiscard]] double quotient(int64_t count, double by) const {
    const double exact = to_ == Rounding::kDown ? at_most(count)
                         : to_ == Rounding::kUp ? at_least(count)
                                                : static_cast<double>(count);
    return count == 0 ? 0 : aside(exact / by);
  }

 private:
  [[nodiscard]] double aside(double value) const {
    return to_ == Rounding::kNearest ? value : to_ == Rounding::kDown ? std::max(0.0, down(value)) : up(value);
  }

  Rounding to_;
};

}  // namespace pantoum::check
