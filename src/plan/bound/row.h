// Columns and rows of a linear program: min cost'x over rows >= lower and the columns' bounds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/index.h"
#include "plan/simulate/indices.h"

namespace pantoum::plan {

using base::Index;
using base::Indexed;

using ColumnIndex = Index<struct ColumnTag>;  // none: the column would be 0
using Point = Indexed<ColumnIndex, double>;

struct Column {
  double cost = 0, lower = 0, upper = 1;
};
using Columns = Indexed<ColumnIndex, Column>;

struct Term {
  ColumnIndex column;
  double factor = 0;
};

struct Row {  // sum of terms >= lower
  std::vector<Term> terms;
  double lower = 0;
  Rule rule = Rule::kNeed;
  std::vector<int64_t> of;

  // Adds a term, where there is such a column.
  void add(ColumnIndex column, double factor) {
    if (column.exists()) terms.push_back({column, factor});
  }
};

using RowKey = std::pair<Rule, std::vector<int64_t>>;  // of all rows of one relaxation, a row's own

inline RowKey key_of(const Row& row) {
  return {row.rule, row.of};
}

// `from` and the sum of the terms at a point, added in that order.
inline double sum_at(const std::vector<Term>& terms, const Point& point, double from = 0) {
  for (const Term& term : terms) from += term.factor * point[term.column];
  return from;
}

// What the rounds of all bounds have in common: tolerances, and when enough is proved.

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

// What multipliers prove of a linear program, whoever found them.

// A lower bound of min cost'x over rows >= lower and the columns' bounds: lower'y + sum of min over the bounds of
// (cost - A'y)_j x_j, for any y >= 0 (by row), rounded down by what these sums may err, and a checker's in plain
// doubles.
double dual_bound(const Columns& columns, const std::vector<Row>& rows, const std::vector<double>& multipliers);

}  // namespace pantoum::plan
