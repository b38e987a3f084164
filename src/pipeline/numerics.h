// What the bits of a run follow from, where --allow-numerics-change has changed them: kept in checkpoints.
#pragma once

#include <string>

#include "pipeline/pipeline.h"

namespace pantoum::pipeline {

// The substitutions of a planned model and the class of numerics of every op that is computed by another than its
// first, as JSON; "": the bits are those of every plan without the flag.
[[nodiscard]] std::string numerics_of(const Compiled& compiled);

// Makes a request go on with them: that graph, those classes, and no search. E0243 with `where`: the text is none.
[[nodiscard]] Result<void> keep_numerics(const std::string& numerics, const std::string& where, PlanRequest& request);

}  // namespace pantoum::pipeline
