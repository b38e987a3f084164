// The deadline of one step, of a deadline for the whole training.
#pragma once

#include "base/result.h"
#include "pantoum/plan.hpp"

namespace pantoum::pipeline {

// An equal part of settings.finish_within, which is set, for every step of `batch` samples; evaluations come on top. E0122
// the number of steps is not known, or 0.
[[nodiscard]] Result<double> step_deadline(const PlanOptions& settings, int64_t batch);

}  // namespace pantoum::pipeline
