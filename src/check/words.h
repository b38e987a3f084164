// The words of all of the checker: those of the problem, and what is said of a certificate that does not hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "base/result.h"
#include "problem/plan.h"

namespace pantoum::check {

using problem::Bound;
using problem::Certificate;
using problem::Choice;
using problem::CostGraph;
using problem::Device;
using problem::Do;
using problem::Freedoms;
using problem::Home;
using problem::Instruction;
using problem::Link;
using problem::Objective;
using problem::Op;
using problem::Pager;
using problem::PagerMode;
using problem::Plan;
using problem::Question;
using problem::Refusal;
using problem::Rule;
using problem::Status;
using problem::Stream;
using problem::Tensor;
using problem::Variable;

inline constexpr double kTolerance = 1e-9;      // of bounds, relative
inline constexpr double kMostQuantity = 1e100;  // no sum overflows

inline Failure broken(std::string what, std::string where = {}) {
  return fail("E0805", std::move(what), "x-certificate" + std::move(where));
}

// a > b, by more than rounding explains.
inline bool above(double a, double b) {
  return !(a <= b + kTolerance * std::max(std::abs(a), std::abs(b)));
}

// Sums of seconds and joules, rounded to the nearest double or to a known side of the exact value.

inline double down(double value) {
  return std::nextafter(value, -HUGE_VAL);
}
inline double up(double value) {
  return std::nextafter(value, HUGE_VAL);
}

// a + b, at most or at least it; exact where it can be (the lost part of a sum of two is itself a double).
inline double sum_down(double a, double b) {
  const double sum = a + b, from_b = sum - a, lost = (a - (sum - from_b)) + (b - from_b);
  return lost < 0 ? down(sum) : sum;
}
inline double sum_up(double a, double b) {
  return -sum_down(-a, -b);
}

// A count as a double, at most or at least it.
inline double at_most(int64_t count) {
  const auto value = static_cast<double>(count);
  return std::abs(value) <= 0x1p53 ? value : down(value);
}
inline double at_least(int64_t count) {
  return -at_most(-count);
}

enum class Rounding { kNearest, kDown, kUp };

// Operations on numbers that are not negative: sums and maxima of results rounded to one side are on that side.
class Rounded {
 public:
  explicit Rounded(Rounding to) : to_(to) {}

  bool nearest() const { return to_ == Rounding::kNearest; }
  double sum(double a, double b) const {
    return to_ == Rounding::kNearest ? a + b : to_ == Rounding::kDown ? sum_down(a, b) : sum_up(a, b);
  }
  double product(double a, double b) const { return a == 0 || b == 0 ? 0 : aside(a * b); }
  double quotient(int64_t count, double by) const {
    const double exact = to_ == Rounding::kDown ? at_most(count)
                         : to_ == Rounding::kUp ? at_least(count)
                                                : static_cast<double>(count);
    return count == 0 ? 0 : aside(exact / by);
  }

 private:
  double aside(double value) const {
    return to_ == Rounding::kNearest ? value : to_ == Rounding::kDown ? std::max(0.0, down(value)) : up(value);
  }

  Rounding to_;
};

}  // namespace pantoum::check
