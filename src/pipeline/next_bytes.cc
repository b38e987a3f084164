#include "pipeline/next_bytes.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "plan/planner.h"
#include "report/timeline.h"

namespace pantoum::pipeline {

namespace {

struct MoreRam {
  double share = 0;  // of the budget
  problem::Bytes bytes = 0;
};

// What is asked for, from the least on. Slices change with every KiB: a step in slices is asked about one, too.
std::vector<MoreRam> more_ram(const problem::Plan& plan) {
  constexpr problem::Bytes kKib = 1024;
  const auto budget = static_cast<double>(plan.question.budget_bytes());
  std::vector<MoreRam> asked;
  for (const double share : {0.0, 0.01, 0.05, 0.1})
    asked.push_back({share, static_cast<problem::Bytes>(std::floor(share * budget))});
  if (problem::streams(plan.graph) && budget > 0) asked.push_back({static_cast<double>(kKib) / budget, kKib});
  std::ranges::stable_sort(asked, {}, &MoreRam::bytes);
  return asked;
}

}  // namespace

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
  for (const auto& [more, bytes] : more_ram(plan)) {
    options.question.budget = budget + bytes;
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
