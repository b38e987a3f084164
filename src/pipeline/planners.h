// The planners that a sweep compares, by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/simulate/plan_options.h"
#include "problem/cost_graph.h"

namespace pantoum::plan {
struct Infeasible;
}

namespace pantoum::pipeline {

struct NamedPlanner {
  std::string name, source;
  // As plan::make_plan. A planner that proves nothing leaves the plan's bound empty.
  std::function<Result<problem::Plan>(const problem::CostGraph&, const plan::PlanOptions&, plan::Infeasible*)> plan;
};

// All of them: this house's own, its ablations, the literature's.
[[nodiscard]] std::vector<NamedPlanner> planners();

// Those named, in the order of planners(). E0115 an unknown name.
[[nodiscard]] Result<std::vector<NamedPlanner>> planners_named(const std::vector<std::string>& names);

}  // namespace pantoum::pipeline
