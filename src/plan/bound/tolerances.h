// What the rounds of all bounds have in common: tolerances, and when enough is proved.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace pantoum::plan {

constexpr double kMargin = 1 - 1e-9;    // a plan's figures are sums with rounding of their own
constexpr double kLeastGap = 1e-9;      // of optimality: no rounds for less
constexpr int32_t kFewestSegments = 8;  // boundary refinement goes from these
constexpr int32_t kMostSegments = 256;  // to these

// A bound of so much proves a plan of `value` within the gap.
inline double enough_for(double value, double gap) {
  return value * (1 - std::max(gap, kLeastGap));
}

// By how much a point must violate a row to be cut off by it.
struct Violation {
  double indicators = 0;  // a row of S, R, I, X; of flow cuts, a part of the longest makespan
  double knapsacks = 0;   // a row made of bytes
};
constexpr Violation kSimplexViolation{.indicators = 1e-4, .knapsacks = 1e-3};
constexpr Violation kBranchingViolation{.indicators = 1e-3, .knapsacks = 1e-3};
constexpr Violation kFirstOrderViolation{.indicators = 5e-4,
                                         .knapsacks = 2e-3};  // its point violates rows by about that

}  // namespace pantoum::plan
