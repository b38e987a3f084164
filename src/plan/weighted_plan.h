// A weighted sum of energy and makespan, planned as the energy of another graph.
#pragma once

#include <functional>

#include "plan/planner.h"

namespace pantoum::plan {

using PlanMaker = std::function<Result<Plan>(const CostGraph& graph, const PlanOptions& options, Infeasible*)>;

// What `make` answers. Where the question is of a weighted sum, it is asked for the least energy of the weighted graph
// (problem/weighted_graph.h), and its answer is told of `graph`: joules are joules, the bound is one of the sum.
//   errors  E0117 a limit on the energy beside a weighted objective; those of `make`
[[nodiscard]] Result<Plan> weighted_or_plain(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible,
                                             const PlanMaker& make);

}  // namespace pantoum::plan
