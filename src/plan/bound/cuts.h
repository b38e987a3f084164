// The procedures that find violated cuts, one for each kind, each explained at the head of its file. separator.h lists
// and calls them.
#pragma once

#include <functional>
#include <vector>

#include "plan/bound/row.h"

namespace pantoum::plan {

class Relaxation;

// At most one row for each needed tensor and segment: the most violated over a, by more than `tolerance`; and one for
// each op that floats, over a and b. `stop` is called in every segment; once it returns true, the rows found so far are
// returned. Cost: segments squared times (tensors + reads).
std::vector<Row> path_cuts(
    const Relaxation& relaxation, const Point& point, double tolerance,
    const std::function<bool()>& stop = [] { return false; });

// Those found so far when `stop`, asked in every segment, says so.
std::vector<Row> memory_cuts(
    const Relaxation& relaxation, const Point& point, double tolerance,
    const std::function<bool()>& stop = [] { return false; });

// At most two rows for each segment with W: the most violated of either kind, by more than `tolerance` times the
// longest makespan. Cost: segments squared, and the columns.
std::vector<Row> flow_cuts(const Relaxation& relaxation, const Point& point, double tolerance);

}  // namespace pantoum::plan
