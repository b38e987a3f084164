// Columns and rows of a linear program: min cost'x over rows >= lower and the columns' bounds.
#pragma once

#include <cstdint>
#include <vector>

#include "problem/certificate.h"

namespace pantoum::plan {

using problem::Rule;

struct Column {
  double cost = 0, lower = 0, upper = 1;
};

struct Term {
  int32_t column = 0;
  double factor = 0;
};

struct Row {  // sum of terms >= lower
  std::vector<Term> terms;
  double lower = 0;
  Rule rule = Rule::kNeed;
  std::vector<int64_t> of;
};

// `from` and the sum of the terms at a point, added in that order.
[[nodiscard]] inline double sum_at(const std::vector<Term>& terms, const std::vector<double>& point, double from = 0) {
  for (const Term& term : terms) from += term.factor * point[static_cast<size_t>(term.column)];
  return from;
}

}  // namespace pantoum::plan
