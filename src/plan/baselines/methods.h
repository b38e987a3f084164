// The planners of the literature behind one interface: each gives a plan of this house, judged by the same simulator. What a
// method does, and how it is mapped to a cost graph, stands at the head of its file.
#pragma once

#include <span>

#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

namespace baseline {

// A plan without a bound of its own. E0300 a budget of nothing; E0301, E0302 as make_plan; E0304 where the method does not
// apply (a chain only, too large for its program), with the reason.
using Method = Result<Plan>(const CostGraph& graph, const PlanOptions& options);
Method keep_everything, griewank, chen_sqrt, chen_greedy, capuchin, checkmate, checkmate_lp, dtr, pofo, poet, port;

}  // namespace baseline

struct Baseline {
  const char* name;    // as `pantoum plan --planner NAME` takes it
  const char* source;  // the paper
  baseline::Method* plan;
};

// All of them, in the order of their publication.
std::span<const Baseline> baselines();

}  // namespace pantoum::plan
