// Where a point of the relaxation holds more than the budget between two boundaries: the next boundaries.
#pragma once

#include <cstddef>
#include <vector>

#include "plan/bound/row.h"
#include "plan/simulate/model.h"

namespace pantoum::plan {

class Relaxation;

// At most `most` stages that are no boundaries, ascending: of each segment the one that exceeds the budget most, and of
// all segments the worst. What surely is in RAM at a stage: a tensor that the segment's first computations read later,
// or that is there when the next one opens, and that neither was paged in nor recomputed in the segment. Cost: segments
// times (tensors + stages).
[[nodiscard]] std::vector<Stage> overfull_stages(const Relaxation& relaxation, const Point& point, size_t most);

}  // namespace pantoum::plan
