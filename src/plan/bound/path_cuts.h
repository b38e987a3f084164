// Path cuts: what is needed in an epoch was somewhere since an earlier one opened.
//
// For epochs a < b and a tensor i that is needed in b: A_i = S[a,i] + min(sum of I[a..b,i], X[i])
//   + min(sum of R[a..b,o], the least A_k over the inputs k of i's op o), and 1 for what is first computed in [a,b].
// Where the relaxation has W and F of epoch a - 1, these stand for X: a copy in storage that is read in [a,b] was
// written, or on the way there, when the boundary op of a - 1 started; else i was in RAM after it without being paged
// in. In every plan A_i >= 1 (with the OR over the epochs for each sum), so where the point gives less, the path of the
// least inputs is a cut. The structure of lot sizing (Barany, Van Roy and Wolsey, 1984), projected. Exact: no cut is
// missed. Cost: epochs squared times (tensors + reads).
#pragma once

#include <functional>
#include <vector>

#include "plan/bound/relaxation.h"

namespace pantoum::plan {

// At most one row for each needed tensor and epoch: the most violated over a, by more than `tolerance`. Those found
// so far when `stop`, asked in every epoch, says so.
[[nodiscard]] std::vector<Row> path_cuts(
    const Relaxation& relaxation, const std::vector<double>& point, double tolerance,
    const std::function<bool()>& stop = [] { return false; });

}  // namespace pantoum::plan
