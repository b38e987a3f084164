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

// This house's own, which alone takes of several graphs the best one.
inline constexpr const char* kOwnPlanner = "pantoum";

// What is said of a budget in which no graph has a plan is to be true of all of them: what is not proved comes first,
// then the lowest bound. Is this answer to be told in place of the other?
[[nodiscard]] bool says_less(const Error& error, const plan::Infeasible& none, const Error& than,
                             const plan::Infeasible& than_none);

}  // namespace pantoum::pipeline
