// Keep everything until its last use: what frameworks do.
//
// Given order, in place where the choices allow it, nothing computed twice or paged. Fits only where the unplanned peak
// does.
#pragma once

#include "plan/baselines/baseline.h"

namespace pantoum::plan::baseline {

[[nodiscard]] Result<Plan> keep_everything(const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan::baseline
