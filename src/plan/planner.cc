#include "plan/planner.h"

#include <limits>
#include <utility>

#include "plan/bound.h"
#include "plan/conclude.h"
#include "plan/inquest.h"
#include "plan/objective.h"
#include "plan/order.h"
#include "plan/refusal.h"
#include "plan/solver.h"

namespace pantoum::plan {
namespace {

// The graph with its updates behind the readers of what they update, unless another order was asked to be kept.
CostGraph reordered(const CostGraph& graph, const PlanOptions& options) {
  CostGraph ordered = graph;
  if (options.reorder) ordered.order = updates_last(graph);
  return ordered;
}

}  // namespace

Result<Plan> make_plan(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible) {
  if (options.ram <= 0)
    return fail("E0300", "a budget of 0 bytes", "--ram", "give the RAM that the step may use, as in --ram 256KiB");
  const Solver::Clock::time_point begin = Solver::Clock::now();
  const CostGraph ordered = reordered(graph, options);
  Solver solver(ordered, options);
  const WorkingSet least = least_ram(solver.model());
  const Bounds bounds = solver.bounds();
  const bool hopeless = options.ram < least.bytes || (options.deadline && bounds.time > *options.deadline) ||
                        (options.most_energy && bounds.energy > *options.most_energy);
  std::optional<Plan> best;
  if (!hopeless) best = solver.solve_and_prove();
  keep_better_warm_start(best, graph, options);
  if (!best) {
    Inquest inquest(ordered, options, begin);
    best = inquest.run(solver, least);
    if (!best) {
      Infeasible known = inquest.known(graph);
      Error error = refusal(graph.name, options, known);
      if (infeasible != nullptr) *infeasible = std::move(known);
      return tl::make_unexpected(std::move(error));
    }
    best->budget_bytes = options.ram;
    best->deadline_s = options.deadline;
    best->most_energy_j = options.most_energy;
  }
  solver.prove_for(value_of(*best));
  conclude(*best, graph, solver, options);
  return std::move(*best);
}

Result<Plan> unplanned(const CostGraph& graph, const PlanOptions& options) {
  PlanOptions all = options;
  all.ram = std::numeric_limits<Bytes>::max() / 4;
  all.effort = 1;
  all.warm_start = nullptr;
  const CostGraph ordered = reordered(graph, all);
  Solver solver(ordered, all);
  std::optional<Plan> plan = solver.keep_everything();
  if (!plan)
    return fail("E0306", "the step cannot be run even with all its tensors in RAM", graph.name,
                "check 'end', 'next' and 'recompute' in the cost graph");
  plan->budget_bytes = plan->predicted.arena_bytes;
  conclude(*plan, graph, solver, all);
  return std::move(*plan);
}

}  // namespace pantoum::plan
