// POET (Patil, Jain, Dutta, Stoica, Gonzalez, ICML 2022), Algorithm 1, as published.
//
// The program of checkmate_milp.h with paging: minimises the joules of computes, page-ins and page-outs. Its deadline
// row counts computes alone, so a plan may miss the deadline by exact replay (E0302); its memory row counts neither
// workspaces nor transfers in flight. On a device without storage it recomputes only, as the paper says.
#pragma once

#include "plan/baselines/baseline.h"

namespace pantoum::plan::baseline {

// A time-out with an incumbent gives the incumbent, or a rounding of the relaxation that is better. E0304 beyond
// kMostOps.
[[nodiscard]] Result<Plan> poet(const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan::baseline
