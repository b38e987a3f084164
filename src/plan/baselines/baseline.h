// The planners of the literature behind one interface: each gives a plan of this house, judged by the same simulator.
#pragma once

#include <span>

#include "plan/simulate/plan_options.h"

namespace pantoum::plan {

struct Baseline {
  const char* name;    // as `pantoum plan --planner NAME` takes it
  const char* source;  // the paper
  // A plan without a bound of its own. E0301, E0302 as make_plan; E0304 where the method does not apply (a chain only,
  // too large for its program), with the reason.
  Result<Plan> (*plan)(const CostGraph& graph, const PlanOptions& options);
};

// All of them, in the order of their publication.
std::span<const Baseline> baselines();

}  // namespace pantoum::plan
