// Cuts from RAM: the memory rows of the boundaries, and the working sets of what is computed again.
//
// A tensor i that was had before epoch e is in RAM all through e when S[e+1,i] - R[e,o] - I[e,i] is 1, and when
// 1 - R[e,o] - I[e,i] is, if the boundary's op reads it (the end: if it must end in RAM). So for an op p that is
// computed again in e: the sum of m_i times these over i that p does not touch, and W_p R[e,p], are at most the budget.
// Both kinds are knapsacks, and are rounded and covered (knapsack_cuts.h).
#pragma once

#include <functional>
#include <vector>

#include "plan/bound/relaxation.h"

namespace pantoum::plan {

// Those found so far when `stop`, asked in every epoch, says so.
[[nodiscard]] std::vector<Row> memory_cuts(
    const Relaxation& relaxation, const std::vector<double>& point, double tolerance,
    const std::function<bool()>& stop = [] { return false; });

}  // namespace pantoum::plan
