// What is said of a plan that is about to be answered, and which plans answer a question.
#pragma once

#include <optional>

#include "plan/planner.h"

namespace pantoum::plan {

class Solver;

// Method, bound with its certificates, gap and status: what `solver` has proved of the plan's question. `original`: the
// user's graph, of which the solver's may be another order.
void finalize(Plan& plan, const CostGraph& original, const Solver& solver, const PlanOptions& options);

// The plan with no bound: what it was proved to be was another question, or another graph's.
Plan without_proof(Plan plan);

// Does the plan, which holds on the graph, do nothing that these freedoms leave out? Cost: near linear.
bool keeps_freedoms(const CostGraph& graph, const Plan& plan, const Freedoms& freedoms);

// Is a plan that was made for another question an answer to this one?
bool answers(const Plan& other, const CostGraph& graph, const PlanOptions& options);

// options.warm_start in place of `best`, where it answers the question and is no worse; where it may leave other programs no
// room, only where it is better.
void keep_better_warm_start(std::optional<Plan>& best, const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan
