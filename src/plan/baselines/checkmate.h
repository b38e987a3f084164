// Checkmate (Jain, Jain, Nrusimha, Gholami, Abbeel, Keutzer, Stoica, Gonzalez, MLSys 2020).
//
// The frontier-advancing program of checkmate_milp.h without paging; minimises the cost of the computes (joules or
// seconds, as the objective is; the paper: seconds). It never pages, and its memory row counts no workspace.
#pragma once

#include "plan/baselines/baseline.h"

namespace pantoum::plan::baseline {

// The mixed-integer program. A time-out with an incumbent gives the incumbent, or a rounding that is better. E0304
// beyond kMostOps.
[[nodiscard]] Result<Plan> checkmate(const CostGraph& graph, const PlanOptions& options);

// Its relaxation within (1 - e) of the budget, then two-phase rounding: S where it is more than half, and the fewest R
// that S allows. The paper's e is 0.1; here 0, 0.1, ... 0.4 are tried until the rounded schedule fits.
[[nodiscard]] Result<Plan> checkmate_lp(const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan::baseline
