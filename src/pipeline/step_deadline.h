// The deadline of one step, of a deadline for the whole training.
#pragma once

#include <string>

#include "pipeline/request.h"

namespace pantoum::pipeline {

// An equal part of `seconds` for every step; evaluations come on top. E0122 the number of steps is not known, or 0.
[[nodiscard]] Result<double> step_deadline(double seconds, const TrainingLength& length);

// "450ms", or "1.3x" of the step with unlimited RAM. E0111; `option` names it there.
[[nodiscard]] Result<Deadline> parse_deadline(const std::string& text, const std::string& option);

}  // namespace pantoum::pipeline
