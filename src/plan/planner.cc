#include "plan/planner.h"

#include <limits>
#include <utility>

#include "plan/bound/bounds.h"
#include "plan/finalize.h"
#include "plan/infeasibility_report.h"
#include "plan/infeasibility_search.h"
#include "plan/simulate/order.h"
#include "plan/solver.h"
#include "problem/objective_values.h"

namespace pantoum::plan {
namespace {

// The graph with its updates behind the readers of what they update, unless another order was asked to be kept.
CostGraph reordered(const CostGraph& graph, const PlanOptions& options) {
  CostGraph ordered = graph;
  if (options.question.freedoms.reordering) ordered.order = updates_last(graph);
  return ordered;
}

// Do the first bounds prove that no plan meets the question?
bool out_of_reach(const Question& question, const WorkingSet& least, const Bounds& bounds) {
  return question.budget_bytes() < least.bytes || (question.deadline && bounds.time > *question.deadline) ||
         (question.energy_limit && bounds.energy > *question.energy_limit);
}

}  // namespace

Result<Plan> make_plan(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible) {
  if (options.question.budget_bytes() <= 0)
    return fail("E0300", "a budget of 0 bytes", "--ram", "give the RAM that the step may use, as in --ram 256KiB");
  const Instance::Clock::time_point begin = Instance::Clock::now();
  const CostGraph ordered = reordered(graph, options);
  Solver solver(ordered, options);
  const WorkingSet least = least_ram(solver.instance().model);
  std::optional<Plan> best;
  if (!out_of_reach(options.question, least, solver.proved().bounds())) best = solver.solve_and_prove();
  keep_better_warm_start(best, graph, options);
  if (!best) {
    InfeasibilitySearch search(ordered, options, begin);
    best = search.run(solver, least);
    if (!best) {
      Infeasible known = search.known(graph);
      Error error = infeasibility_report(graph.name, options, known);
      if (infeasible != nullptr) *infeasible = std::move(known);
      return tl::make_unexpected(std::move(error));
    }
    best->question = options.question;
  }
  solver.prove_for(value_of(*best));
  finalize(*best, graph, solver, options);
  return std::move(*best);
}

Result<Plan> unplanned(const CostGraph& graph, const PlanOptions& options) {
  PlanOptions all = options;
  all.question.budget.reset();
  all.effort = 1;
  all.warm_start = nullptr;
  const CostGraph ordered = reordered(graph, all);
  Solver solver(ordered, all);
  std::optional<Plan> plan = solver.keep_everything();
  if (!plan)
    return fail("E0306", "the step cannot be run even with all its tensors in RAM", graph.name,
                "check 'end', 'next' and 'recompute' in the cost graph");
  plan->question.budget = plan->predicted.arena_bytes;
  finalize(*plan, graph, solver, all);
  return std::move(*plan);
}

}  // namespace pantoum::plan
