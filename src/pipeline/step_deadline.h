// The deadline of one step, of a deadline for the whole training.
#pragma once

#include "pipeline/request.h"

namespace pantoum::pipeline {

// An equal part of `seconds` for every step; evaluations come on top. E0122 the number of steps is not known, or 0.
[[nodiscard]] Result<double> step_deadline(double seconds, const TrainingLength& length);

}  // namespace pantoum::pipeline
