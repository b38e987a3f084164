// What multipliers prove of a linear program, whoever found them.
#pragma once

#include <vector>

#include "plan/bound/row.h"

namespace pantoum::plan {

// A lower bound of min cost'x over rows >= lower and the columns' bounds: lower'y + sum of min over the bounds of
// (cost - A'y)_j x_j, for any y >= 0 (by row), rounded down by what these sums may err, and a checker's in plain
// doubles.
double dual_bound(const Columns& columns, const std::vector<Row>& rows, const std::vector<double>& multipliers);

}  // namespace pantoum::plan
