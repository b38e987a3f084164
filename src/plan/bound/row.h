// The columns and rows of a linear program: minimize cost'x subject to rows >= lower and the columns' bounds.
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

using ColumnIndex = Index<struct ColumnTag>;  // none: the variable is always 0 and has no column
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

  // Adds factor * column to the row; does nothing if the column does not exist.
  void add(ColumnIndex column, double factor) {
    if (column.exists()) terms.push_back({column, factor});
  }
};

using RowKey = std::pair<Rule, std::vector<int64_t>>;  // unique among the rows of one relaxation

inline RowKey key_of(const Row& row) {
  return {row.rule, row.of};
}

// Returns `from` plus the values of the terms at `point`, added in the order of the terms.
inline double sum_at(const std::vector<Term>& terms, const Point& point, double from = 0) {
  for (const Term& term : terms) from += term.factor * point[term.column];
  return from;
}

// Tolerances of the rounds of all bounds, and the bound at which rounds stop.

constexpr double kMargin = 1 - 1e-9;    // leaves room for rounding errors in a plan's figures
constexpr double kLeastGap = 1e-9;      // optimality gap below which no rounds run
constexpr int32_t kFewestSegments = 8;  // boundary refinement begins with this many
constexpr int32_t kMostSegments = 256;  // and ends with this many

// Returns the bound that proves a plan of `value` to be within `gap` of the optimum.
inline double enough_for(double value, double gap) {
  return value * (1 - std::max(gap, kLeastGap));
}

// The least violation for which a row is added to cut off a point.
struct Violation {
  double indicators = 0;  // of rows over S, R, I and X; of flow cuts, as a share of the longest makespan
  double knapsacks = 0;   // of rows in bytes
};
constexpr Violation kSimplexViolation{.indicators = 1e-4, .knapsacks = 1e-3};
constexpr Violation kBranchingViolation{.indicators = 1e-3, .knapsacks = 1e-3};
constexpr Violation kFirstOrderViolation{
    .indicators = 5e-4, .knapsacks = 2e-3};  // the point of that method violates rows by about this much

// Returns a lower bound of min cost'x subject to rows >= lower and the columns' bounds, from any multipliers y >= 0 (one per row): lower'y + the sum
// over columns j of the minimum of (cost - A'y)_j x_j over the bounds of x_j. The bound is reduced by the largest rounding error of these sums, and
// of a checker that computes them in plain doubles.
double dual_bound(const Columns& columns, const std::vector<Row>& rows, const std::vector<double>& multipliers);

}  // namespace pantoum::plan
