// Limits are kept by what a plan may take at the most, rounding included: so the checker judges them (check/claims.h).
#pragma once

#include <limits>

#include "problem/plan.h"

namespace pantoum::plan {

// At least the exact seconds or joules that plain sums have as `value`, and what sums rounded up have: an instruction adds
// by no more than four operations, each of which errs by half a unit in the last place, or by one where it is rounded up.
[[nodiscard]] inline double upper_end(const problem::Plan& plan, double value) {
  const auto operations = static_cast<double>(8 * (plan.instructions.size() + 2));
  return value * (1 + operations * std::numeric_limits<double>::epsilon());
}

}  // namespace pantoum::plan
