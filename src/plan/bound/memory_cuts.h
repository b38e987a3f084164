// Cuts from RAM: the memory rows of the boundaries, and the working sets of what is recomputed.
//
// A tensor i that was had before segment e is in RAM all through e when this is 1:
//
//   S[e+1,i] - R[e,o] - I[e,i], or 1 - R[e,o] - I[e,i] if the boundary op reads it (at the end: if it must end in RAM)
//
// So for an op p that is recomputed in e, the sum of m_i times these over the i that p does not touch, and W_p R[e,p],
// are at most the budget. Both kinds are knapsacks, and are rounded and covered (knapsack_cuts.h).
#pragma once

#include <functional>
#include <vector>

#include "plan/bound/row.h"

namespace pantoum::plan {

class Relaxation;

// Those found so far when `stop`, asked in every segment, says so.
[[nodiscard]] std::vector<Row> memory_cuts(
    const Relaxation& relaxation, const Point& point, double tolerance,
    const std::function<bool()>& stop = [] { return false; });

}  // namespace pantoum::plan
