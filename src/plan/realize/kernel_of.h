// The kernel that a compute of a stream runs.
#pragma once

#include "plan/simulate/event.h"
#include "plan/simulate/model.h"

namespace pantoum::plan {

// `event`: a compute.
[[nodiscard]] inline const ChoiceModel& kernel_of(const Model& model, const Event& event) {
  return model.ops[OpIndex(event.subject)].choices[base::position_of(event.choice)];
}

}  // namespace pantoum::plan
