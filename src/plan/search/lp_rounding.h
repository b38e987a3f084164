// LP rounding: a solution of the relaxation -> a policy near it, for the search to start from.
#pragma once

#include "plan/bound/row.h"
#include "plan/simulate/policy.h"

namespace pantoum::plan {

class Relaxation;

// Of an interval that segments open in: retained while S is at least a half at every opening; else evicted after the
// last opening before S falls, and retained again from the stage where it rises to stay so until the use; paged where
// the tensor is written by more than a half or can only be paged. The policy may be over the budget. Cost: linear in
// intervals times segments.
Policy round_lp(const Relaxation& relaxation, const Point& point, Choices choices);

}  // namespace pantoum::plan
