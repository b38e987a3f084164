// The planners that can be asked, by name.
#pragma once

#include <string>
#include <vector>

#include "plan/planner.h"

namespace pantoum::plan {

struct NamedPlanner {
  std::string name, source;
  PlanMaker plan;  // a planner that proves nothing leaves the plan's bound empty
};

// Pantoum's own planner, which alone chooses among several graphs.
inline constexpr const char* kOwnPlanner = "pantoum";

// All planners: Pantoum's own, its ablations, the literature's.
std::vector<NamedPlanner> planners();

// The planners of these names, in the order of planners(). E0115 an unknown name.
Result<std::vector<NamedPlanner>> planners_named(const std::vector<std::string>& names);

}  // namespace pantoum::plan
