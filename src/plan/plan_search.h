// The search for a plan of an instance: starts, annealing, offsets, and again where the offsets cost RAM or time.
//
//   greedy start -> annealing -> offsets -> plan
//                   ^                |
//                   +----------------+  a smaller budget, an earlier deadline
#pragma once

#include <atomic>
#include <optional>

#include "plan/simulate/indices.h"

namespace pantoum::plan {

struct Instance;
class Prover;

// A plan that meets the budget and the limits, or nothing within the time limit. Its bound, method and status are not filled
// in. `best_value`: of the best policy so far, which others may read at any time. The search stops at the prover's bound and
// takes up its policies, while it runs.
std::optional<Plan> search_plan(const Instance& instance, Prover& prover, std::atomic<double>& best_value);

// The plan without budget and limits that retains every tensor until its last use.
std::optional<Plan> keep_everything(const Instance& instance, Prover& prover);

}  // namespace pantoum::plan
