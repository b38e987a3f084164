// The lower bound of large relaxations: cuts in rounds, as in lp_bound.h, around a first-order method.
//
// A simplex needs a vertex before it can be cut, and gets slower with every row; here a round is a fixed number of
// products with the matrix, cuts are taken off a point from the middle, and the multipliers stay. From some hundred ops
// on it proves in a second what the dual simplex does in thirty.
#pragma once

#include "plan/bound/lp_bound.h"

namespace pantoum::plan {

// As lp_bound; iterations are those of the first-order method. The point is no vertex, and only nearly within the rows.
[[nodiscard]] LpBound primal_dual_bound(const Relaxation& relaxation, const PlanOptions& options,
                                        const LpLimits& limits);

}  // namespace pantoum::plan
