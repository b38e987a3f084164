// The words of all of the checker: those of the problem, and what is said of a certificate that does not hold.
#pragma once

#include <algorithm>
#include <cmath>
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

}  // namespace pantoum::check
