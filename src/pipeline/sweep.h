// Budgets times planners: the Pareto curve of a training step.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pipeline/pipeline.h"
#include "pipeline/slices.h"
#include "plan/attempts/planners.h"
#include "report/sweep_rows.h"

namespace pantoum::pipeline {

struct SweepRequest {
  std::string version;                  // of the program: another one's rows are not mixed with this one's
  PlanRequest plan;                     // options.question.budget_bytes() is not used
  std::vector<problem::Bytes> budgets;  // upward, each once
  std::vector<plan::NamedPlanner> planners;
  std::string folder;
  bool keeps_costs = false;  // write the costs to the folder, because this machine's times change from day to day
  std::function<void(const std::string& planner, size_t budget)> started;  // may be empty
  GraphInSlices in_slices =
      {};  // this house's own planner plans its graph, where it has one for a budget; may be empty
};

// What ties a sweep to its cost graph: SweepHead::question.
[[nodiscard]] std::string question_of(const problem::CostGraph& graph);

// The file in which a sweep's folder keeps a cost graph.
[[nodiscard]] std::string kept_costs(const std::string& folder, size_t graph = 0);
// The cost graphs that the sweep in `folder` began with, where they are of the same step; else `graphs`. E0220, E0201 a
// file there that is none.
[[nodiscard]] Result<SweptGraphs> with_kept_costs(SweptGraphs graphs, const std::string& folder);

// Plans every budget with every planner, budgets upward, each from the plan of the one before, so that no value is
// worse than that of a smaller budget; then, downward, each takes up the bound of the next larger one where that is
// higher. Every plan has passed the checker. What `folder` holds of the same question is
// taken as it is; a row whose planning was stopped is not kept. Rows of planners that were asked for earlier are among
// the answer's. This house's own planner takes of the graphs the one whose plan in the budget is best, the others plan
// the first. Writes the folder's CSV, JSON and SVG, when stopped too.
//   errors  E0280, E0281, E0901 of the folder; E0300 nothing is left of a budget; E0001 a plan that the checker rejects
[[nodiscard]] Result<report::Sweep> run_sweep(const SweptGraphs& graphs, const SweepRequest& request);

// Budgets as users write them for a sweep.

// "64KiB:1MiB:16" (from, to, how many: equal steps), "64KiB,128KiB,1MiB", or one budget -> bytes, upward, each once.
// E0110 a unit is missing, or the range is none (from > to, less than 2 or more than 10000 budgets); E0300 a budget of
// 0.
[[nodiscard]] Result<std::vector<int64_t>> parse_budgets(const std::string& text, const std::string& option);

// Returns what the planner knows of the least RAM of a graph, from asking it for none: min_ram_bytes and min_ram_bound_bytes, which include the
// reserve, and min_plan. Fails where no plan is known.
[[nodiscard]] Result<plan::Infeasible> least_ram(const problem::CostGraph& graph, PlanRequest request);
// Returns `count` budgets in equal steps from `low` to the larger of `low` and `high`, each once.
[[nodiscard]] std::vector<int64_t> even_budgets(int64_t low, int64_t high, int64_t count);
// Returns the budgets of --ram auto: eight in equal steps of whole KiB from the least RAM that is known to the unplanned peak, the reserve included.
// `in_slices`: of the same step; with it, the least RAM is that of ops in slices where they take less.
[[nodiscard]] Result<std::vector<int64_t>> budgets_by_themselves(const problem::CostGraph& graph,
                                                                 const PlanRequest& request,
                                                                 const GraphInSlices& in_slices = {});

}  // namespace pantoum::pipeline
