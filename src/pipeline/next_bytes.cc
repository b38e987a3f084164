#include "pipeline/next_bytes.h"

#include <cmath>

namespace pantoum::pipeline {

Result<report::NextBytes> next_bytes(const plan::Plan& plan, plan::PlanOptions options) {
  report::NextBytes next;
  PANTOUM_ASSIGN(const plan::Plan unlimited, plan::unplanned(plan.graph, {.in_place = options.in_place}));
  next.unplanned = unlimited.predicted;
  options.objective = plan.objective;
  options.deadline = plan.deadline_s;
  options.most_energy = plan.most_energy_j;
  plan::Plan last = plan;
  for (const double more : {0.0, 0.01, 0.05, 0.1}) {
    options.ram =
        plan.budget_bytes + static_cast<cost::Bytes>(std::floor(more * static_cast<double>(plan.budget_bytes)));
    options.warm_start = &last;
    PANTOUM_ASSIGN(plan::Plan better, plan::make_plan(plan.graph, options));
    last = std::move(better);
    next.probes.push_back({.more = more, .ram_bytes = options.ram, .predicted = last.predicted});
  }
  if (!plan.deadline_s) return next;
  options.ram = plan.budget_bytes;
  options.deadline.reset();
  options.warm_start = &plan;
  PANTOUM_ASSIGN(const plan::Plan late, plan::make_plan(plan.graph, options));
  next.no_deadline = report::Probe{.ram_bytes = options.ram, .predicted = late.predicted};
  return next;
}

}  // namespace pantoum::pipeline
