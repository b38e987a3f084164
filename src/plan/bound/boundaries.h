// The boundaries of the relaxation's segments: where live bytes press on the budget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/bound/row.h"
#include "plan/simulate/model.h"

namespace pantoum::plan {

// Stages at which the live bytes of a plan that retains everything exceed `budget`, and the end; ascending. All of
// them, or about `most`: of each of most / 2 slices of equal number the stage with the most live bytes, and the one
// where they fill most of what the op's working set leaves. `any_order`: of a chain (precedence.h), the one that exceeds
// the budget by the most bytes in all; `through`: of those with this op, which it has for sure.
std::vector<Stage> choose_boundaries(const Model& model, Bytes budget, int32_t most, bool any_order = false,
                                     OpIndex through = {});

class Relaxation;

// At most `most` stages that are no boundaries, ascending: of each segment the one that exceeds the budget most, and of
// all segments the worst. What surely is in RAM at a stage: a tensor that the segment's first computations read later,
// or that is there when the next one opens, and that neither was paged in nor recomputed in the segment. Cost: segments
// times (tensors + stages).
std::vector<Stage> overfull_stages(const Relaxation& relaxation, const Point& point, size_t most);

}  // namespace pantoum::plan
