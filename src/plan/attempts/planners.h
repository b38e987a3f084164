// The planners, by name.
#pragma once

#include <string>
#include <vector>

#include "plan/planner.h"

namespace pantoum::plan {

struct NamedPlanner {
  std::string name, source;
  PlanMaker plan;  // a planner without proofs leaves the plan's bound empty
};

// Pantoum's own planner, the only one that chooses among several graphs.
inline constexpr const char* kOwnPlanner = "pantoum";

// Returns all planners: Pantoum's own, its ablations, and planners of the literature. These give E0304 for a graph whose
// choices stream.
std::vector<NamedPlanner> planners();

// Returns the planners with these names, in the order of planners(). E0115: a name is unknown.
Result<std::vector<NamedPlanner>> planners_named(const std::vector<std::string>& names);

}  // namespace pantoum::plan
