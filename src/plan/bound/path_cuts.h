// Path cuts: what is needed in a segment was somewhere since an earlier one opened.
//
// For segments a < b and a tensor i that is needed in b, with o the op that makes i:
//
//   A_i = S[a,i] + min(sum of I[a..b,i], X[i]) + min(sum of R[a..b,o], the least A_k over the inputs k of o)
//   A_i = 1 for what is first computed in [a,b]
//
// In every plan A_i >= 1 (with the OR over the segments for each sum), so where the point gives less, the path of the
// least inputs is a cut. Exact: no cut is missed.
//
// Where the relaxation has W and F of segment a - 1, these stand for X: a copy in storage that is read in [a,b] was
// written, or on the way there, when the boundary op of a - 1 started; else i was in RAM after it without being paged
// in.
//
// Where all orders are meant, an op p that floats (relaxation.h) and reads i is first computed outside [a,b], or i was
// somewhere in it, for all a and b: sum of R[e,p] over the rest of its window + A_i >= 1.
//
// The structure of lot sizing (Barany, Van Roy and Wolsey, 1984), projected.
#pragma once

#include <functional>
#include <vector>

#include "plan/bound/row.h"

namespace pantoum::plan {

class Relaxation;

// At most one row for each needed tensor and segment: the most violated over a, by more than `tolerance`; and one for
// each op that floats, over a and b. Those found so far when `stop`, asked in every segment, says so. Cost: segments squared times (tensors + reads).
[[nodiscard]] std::vector<Row> path_cuts(
    const Relaxation& relaxation, const Point& point, double tolerance,
    const std::function<bool()>& stop = [] { return false; });

}  // namespace pantoum::plan
