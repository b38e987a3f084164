// Annealing among plans that have offsets: what the search makes of all the RAM that offsets leave.
#pragma once

#include <functional>
#include <optional>

#include "plan/realize/realize.h"
#include "plan/search/search.h"

namespace pantoum::plan {

struct PlacedResult {
  Policy policy;
  Plan plan;
};

// A better plan than `plan`, whose policy is `start`: from neighbour to neighbour of the policy, as far as their allocations
// have offsets within the budget near the last ones. Nothing: none was found. Not where transfers run beside compute.
// Cost: annealing's for a proposal; for the best of eight that are better a simulation of the whole policy and a short
// search for offsets, which counts as 100 of limits.rounds.
std::optional<PlacedResult> improve_placed(const CostGraph& graph, const Model& model, const Limit& limit,
                                           const PlanOptions& options, const Policy& start, const Plan& plan,
                                           const SearchLimits& limits);

}  // namespace pantoum::plan
