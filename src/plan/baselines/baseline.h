// The planners of the literature behind one interface: each gives a plan of this house, judged by the same simulator.
#pragma once

#include <span>

#include "base/result.h"

namespace pantoum::problem {
struct CostGraph;
struct Plan;
}  // namespace pantoum::problem

namespace pantoum::plan {

struct PlanOptions;
using problem::CostGraph;
using problem::Plan;

struct Baseline {
  const char* name;    // as `pantoum plan --planner NAME` takes it
  const char* source;  // the paper
  // A plan without a bound of its own. E0301, E0302 as make_plan; E0304 where the method does not apply (a chain only,
  // too large for its program), with the reason.
  Result<Plan> (*plan)(const CostGraph& graph, const PlanOptions& options);
};

// All of them, in the order of their publication.
[[nodiscard]] std::span<const Baseline> baselines();

}  // namespace pantoum::plan
