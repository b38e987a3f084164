// Flow cuts: what the pager's channel moves takes the time that there is for it.
//
// For an epoch e that has columns W, and a in -1..e:
//   T >= work up to a's boundary op + the seconds of writing W[e,i] for all i first computed after a + what follows e
// What is first computed after a's boundary op is not written before it ended; what is written when e's boundary op
// starts was written one by one; and behind that start there is still
//   the work from e's boundary op on (a < e), or the page-ins of the epochs after e, one by one.
// Work counts the first computations, and R in epochs up to a, or after e. (a = -1: no work, and all W.)
#pragma once

#include <vector>

#include "plan/bound/relaxation.h"

namespace pantoum::plan {

// At most two rows for each epoch with W: the most violated of either kind, by more than `tolerance` times the longest
// makespan. Cost: epochs squared, and the columns.
[[nodiscard]] std::vector<Row> flow_cuts(const Relaxation& relaxation, const std::vector<double>& point,
                                         double tolerance);

}  // namespace pantoum::plan
