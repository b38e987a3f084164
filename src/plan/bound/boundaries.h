// The boundaries of the relaxation's segments: where live bytes press on the budget.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/simulate/model.h"

namespace pantoum::plan {

// Stages at which the live bytes of a plan that retains everything exceed `budget`, and the end; ascending. All of
// them, or about `most`: of each of most / 2 slices of equal number the stage with the most live bytes, and the one
// where they fill most of what the op's working set leaves. `any_order`: of a chain (precedence.h), the one that exceeds
// the budget by the most bytes in all; `through`: of those with this op, which it has for sure.
[[nodiscard]] std::vector<Stage> choose_boundaries(const Model& model, Bytes budget, int32_t most,
                                                   bool any_order = false, OpIndex through = {});

}  // namespace pantoum::plan
