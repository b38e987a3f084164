// A solution of the relaxation -> a policy near it, for the search to start from.
#pragma once

#include <vector>

#include "plan/bound/relaxation.h"
#include "plan/simulate/policy.h"

namespace pantoum::plan {

// Of a interval that epochs open in: kept while S is at least a half at every opening; else given up after the last opening
// before S falls, kept again from the stage where it rises to stay so until the use; paged where the tensor is written
// by more than a half or can only be paged. The policy may be over the budget. Cost: linear in intervals times epochs.
[[nodiscard]] Policy round_lp(const Relaxation& relaxation, const std::vector<double>& point, Choices choices);

}  // namespace pantoum::plan
