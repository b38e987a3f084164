// A place in auxiliary storage for every tensor that is ever there.
#pragma once

#include "plan/simulate/model.h"
#include "problem/plan.h"

namespace pantoum::plan {

using problem::Plan;

// One slot each, in order of ids, aligned to the arena's and the storage's blocks. E0305 the storage's capacity does
// not hold them.
[[nodiscard]] Result<std::map<int64_t, Bytes>> storage_slots(const Model& model, const Plan& plan);

}  // namespace pantoum::plan
