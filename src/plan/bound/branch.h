// Branch and bound: what the cuts leave of the gap is closed by telling plans apart by what they decide.
//
// Best first. A case's program is that of the relaxation with the decided columns fixed; cuts hold for all cases and
// are shared. The column to branch on is the one whose two cases raise the bound most (strong branching: a few simplex
// iterations for each candidate; what a column brought so far, per unit, stands in once it was tried: reliability
// branching, Achterberg, Koch and Martin, 2005). A candidate with a case that is closed at once is decided for good. A
// case without solution is closed by its ray.
#pragma once

#include <optional>
#include <vector>

#include "plan/bound/lp_bound.h"

namespace pantoum::plan {

struct Branched {
  double bound = 0;                        // proved; of the objective
  std::optional<Certificate> certificate;  // of the bound
  int64_t iterations = 0;                  // of the simplex, and a few for each solve
  Point whole;                             // where a case left nothing to decide below the target: its point
  std::vector<SeparatorCount> separators;  // in the order of separators()
};

// Until the bound is at the target, or the limits, or a case leaves nothing to decide: then the relaxation has too few
// boundaries (or the target is above the optimum). `options`: those of the relaxation's model.
Branched branch_and_bound(const Relaxation& relaxation, const PlanOptions& options, const LpLimits& limits);

}  // namespace pantoum::plan
