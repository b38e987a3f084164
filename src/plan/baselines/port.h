// PORT (Singhvi, DeLoye, Shanbhag, Patil, Gonzalez, 2024), the program for one engine.
//
// POET's program with another objective: first the fewest seconds of computes (its alpha objective), then, among those,
// the fewest transfers (beta). A bandwidth row per stage: what the stage moves is at most what its computes cover, no
// stall, so tight budgets turn infeasible. The one bandwidth of the paper is the slower direction's; latencies are not
// in the row. Its memory row counts neither workspaces nor transfers in flight. The compute times are the device's;
// POET's deadline is not in it.
#pragma once

#include "plan/baselines/baseline.h"

namespace pantoum::plan::baseline {

// A time-out with an incumbent gives the incumbent, or a rounding that is better; beta is minimised in the time that
// alpha left. E0304 beyond kMostOps.
[[nodiscard]] Result<Plan> port(const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan::baseline
