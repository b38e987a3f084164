// Plans of graphs with several engines, or with choices that stream.
#pragma once

#include "plan/planner.h"

namespace pantoum::plan {

// Plans a graph whose device has several engines, or whose choices stream. Begins with plans that `serial` makes of the graph on one
// engine, in all of its RAM and in less, and with a list that runs each op where it ends earliest; where choices stream, with
// lists by what stays in RAM (stream_lists.h). Then anneals lists: ops move within the list and to other engines, are
// computed again, are paged out and in. Whoever reuses bytes waits for their last use, so that offsets are chosen with the
// list.
//   errors  those of make_plan. E0301 only where the graph alone proves it; E0304 if a program on several engines is to share its
//           arena with others; one whose choices stream begins with its tensors where `fixed_initial` says
//   cost    options.time_limit, or 3,000 lists for each unit of options.effort, and as many up to three times more where nothing known meets the
//           limits; one thread for each of options.threads
Result<Plan> plan_for_engines(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible,
                              const PlanMaker& serial);

// Looks for a plan of several engines that is better than `one`, a plan of the graph on one engine. `graph` is that graph with more engines: every op's
// choices begin with those that `one` names. Tensors start where they start in `one`, so that the plans of other programs keep their places. Returns
// `one` itself, moved to `graph`, where nothing better is found. `one` may miss the limits of `options.question`; the answer meets them.
//   errors  E0302 no plan was found that meets the limits
//   cost    options.time_limit, or as plan_for_engines
Result<Plan> plan_beside_one_engine(const CostGraph& graph, const Plan& one, const PlanOptions& options);

// Lowers the proved bound of a plan to `other`, the bound of a graph with more ways to compute, so that what the plan claims holds for both graphs; gap
// and status follow.
void hold_for_both(Plan& plan, const problem::Bound& other);

// As plan_for_engines, without budget, paging and recomputing.
Result<Plan> unplanned_on_engines(const CostGraph& graph, const PlanOptions& options);

// Returns the largest working set of the graph's ops in bytes, each under its leanest choice: no plan of any order fits less RAM. What a choice streams takes
// none beside its workspace.
[[nodiscard]] Bytes least_working_set_bytes(const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan
