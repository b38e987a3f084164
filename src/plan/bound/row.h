// Columns and rows of a linear program: min cost'x over rows >= lower and the columns' bounds.
#pragma once

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

}  // namespace pantoum::plan
