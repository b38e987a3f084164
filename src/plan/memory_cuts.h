// Cuts from RAM: the memory rows of the boundaries, and the working sets of what is computed again.
//
// A tensor i is in RAM all through epoch e when S[e+1,i] - R[e,o] - I[e,i] is 1 (it was not first computed in e). So
// for an op p that is computed again in e: the sum of m_i (S[e+1,i] - R[e,o] - I[e,i]) over i that p does not touch,
// and W_p R[e,p], are at most the budget. Both kinds are knapsacks, and are rounded and covered (knapsack_cuts.h).
#pragma once

#include <vector>

#include "plan/relaxation.h"

namespace pantoum::plan {

[[nodiscard]] std::vector<Row> memory_cuts(const Relaxation& relaxation, const std::vector<double>& point,
                                           double tolerance);

}  // namespace pantoum::plan
