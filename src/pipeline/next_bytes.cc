#include "pipeline/next_bytes.h"

#include <cmath>

#include "plan/planner.h"
#include "report/timeline.h"

namespace pantoum::pipeline {

Result<report::NextBytes> next_bytes(const problem::Plan& plan, plan::PlanOptions options) {
  report::NextBytes next;
  if (plan.unplanned) {
    next.unplanned = plan.unplanned->figures;
  } else {
    PANTOUM_ASSIGN(const problem::UnplannedStep step,
                   report::unplanned_step(plan.graph, options.question.freedoms.in_place));
    next.unplanned = step.figures;
  }
  options.question.objective = plan.question.objective;
  options.question.freedoms = plan.question.freedoms;
  options.question.weights = plan.question.weights;
  options.question.deadline = plan.question.deadline;
  options.question.energy_limit = plan.question.energy_limit;
  const problem::Bytes budget = plan.question.budget_bytes();
  problem::Plan last = plan;
  for (const double more : {0.0, 0.01, 0.05, 0.1}) {
    options.question.budget = budget + static_cast<problem::Bytes>(std::floor(more * static_cast<double>(budget)));
    options.warm_start = &last;
    PANTOUM_ASSIGN(problem::Plan better, plan::make_plan(plan.graph, options));
    last = std::move(better);
    next.probes.push_back({.more = more, .ram_bytes = options.question.budget_bytes(), .predicted = last.predicted});
  }
  if (!plan.question.deadline) return next;
  options.question.budget = budget;
  options.question.deadline.reset();
  options.warm_start = &plan;
  PANTOUM_ASSIGN(const problem::Plan late, plan::make_plan(plan.graph, options));
  next.no_deadline = report::Probe{.ram_bytes = options.question.budget_bytes(), .predicted = late.predicted};
  return next;
}

}  // namespace pantoum::pipeline
