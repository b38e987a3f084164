// Flow cuts: what the pager's channel moves takes the time that there is for it.
//
// For a segment e that has columns W, and a in -1..e:
//
//   T >= work up to a's boundary op + the seconds of writing W[e,i] for all i first computed after a + what follows e
//
// What is first computed after a's boundary op is not written before that op ended. What is written when e's boundary
// op starts was written one by one. And behind that start there is still
//
//   the work from e's boundary op on (a < e), or
//   the page-ins of the segments after e, one by one.
//
// Work counts the first computations, and R in segments up to a, or after e. (a = -1: no work, and all W.)
#pragma once

#include <vector>

#include "plan/bound/row.h"

namespace pantoum::plan {

class Relaxation;

// At most two rows for each segment with W: the most violated of either kind, by more than `tolerance` times the
// longest makespan. Cost: segments squared, and the columns.
[[nodiscard]] std::vector<Row> flow_cuts(const Relaxation& relaxation, const Point& point, double tolerance);

}  // namespace pantoum::plan
