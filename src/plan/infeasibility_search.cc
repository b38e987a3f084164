#include "plan/infeasibility_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "plan/bound/lp_bound.h"
#include "plan/bound/ram_bound.h"
#include "plan/finalize.h"
#include "plan/infeasibility_report.h"
#include "plan/solver.h"
#include "problem/objective_values.h"

namespace pantoum::plan {
namespace {

constexpr double kShare = 0.3;  // of the time that is left, for one question
constexpr int64_t kEffort = 1;  // for each budget that is tried
constexpr int kSteps = 10;

void drop_limits(PlanOptions& options) {
  options.question.deadline.reset();
  options.question.energy_limit.reset();
}

}  // namespace

InfeasibilitySearch::InfeasibilitySearch(const CostGraph& graph, const PlanOptions& options,
                                         Instance::Clock::time_point begin)
    : graph_(graph), options_(options) {
  const std::chrono::duration<double> limit(options.time_limit);
  if (options.effort == 0) until_ = begin + std::chrono::duration_cast<Instance::Clock::duration>(limit);
  options_.warm_start = nullptr;
  options_.progress = nullptr;
}

std::optional<Plan> InfeasibilitySearch::run(const Solver& solver, const WorkingSet& least) {
  known_.min_ram_bound_bytes = known_.order_ram_bound_bytes = least.bytes;
  known_.why = least.why;
  if (options_.question.budget_bytes() >= least.bytes) {
    std::optional<Plan> found = explore_limits(solver);
    if (found) return found;
  }
  known_.min_plan = smallest_plan(least.bytes);
  if (!known_.min_plan) return std::nullopt;
  known_.min_ram_bytes = known_.min_plan->predicted.arena_bytes;
  if (known_.without_limits || known_.min_ram_bytes > options_.question.budget_bytes()) return std::nullopt;
  return known_.min_plan;
}

Infeasible InfeasibilitySearch::known(const CostGraph& original) {
  if (known_.min_plan) {
    PlanOptions own = options_;
    own.question.budget = known_.min_ram_bytes;
    if (known_.without_limits) drop_limits(own);
    finalize(*known_.min_plan, original, Solver(graph_, own), own);
  }
  known_.refusal = refusal_of(original, options_, known_);
  return std::move(known_);
}

Seconds InfeasibilitySearch::seconds_left() const {
  return until_ ? std::chrono::duration<double>(*until_ - Instance::Clock::now()).count() : HUGE_VAL;
}

// What can be had in the RAM asked for: bounds, and a plan where one meets the limits after all.
std::optional<Plan> InfeasibilitySearch::explore_limits(const Solver& solver) {
  raise_ram_bound(solver.instance().model);
  std::optional<Plan> found;
  const Bounds& least = solver.instance().bounds;
  if (options_.question.deadline) known_.time_s = least_of(Objective::kTime, least.time, found);
  if (options_.question.energy_limit && !found) known_.energy_j = least_of(Objective::kEnergy, least.energy, found);
  if (!found && proved_infeasible(options_, known_))  // the limits are out of reach in this RAM, and so in less
    known_.min_ram_bound_bytes = std::max(known_.min_ram_bound_bytes, options_.question.budget_bytes() + 1);
  known_.order_ram_bound_bytes = std::max(known_.order_ram_bound_bytes, known_.min_ram_bound_bytes);
  return found;
}

// Is what the certificate proves proved of exactly the plans that were asked for?
bool InfeasibilitySearch::of_all_plans(const Certificate& certificate) const {
  return certificate.any_order || !options_.question.freedoms.reordering;
}

// Where the largest working set is not all that there is to say.
void InfeasibilitySearch::raise_ram_bound(const Model& model) {
  if (options_.question.freedoms.paging && model.paging && !options_.question.deadline &&
      !options_.question.energy_limit)
    return;
  const bool any_order = options_.question.freedoms.reordering;
  RamBound bound = ram_bound_of(model, any_order);
  if (bound.bytes > known_.min_ram_bound_bytes && bound.certificate) {
    known_.min_ram_bound_bytes = known_.order_ram_bound_bytes = bound.bytes;
    if (!bound.why.empty()) known_.why = std::move(bound.why);
    known_.ram_certificate = std::move(bound.certificate);
  }
  if (any_order)
    known_.order_ram_bound_bytes = std::max(known_.order_ram_bound_bytes, ram_bound_of(model, false).bytes);
}

RamBound InfeasibilitySearch::ram_bound_of(const Model& model, bool any_order) const {
  return ram_bound(model, options_, until_ ? kShare * seconds_left() : 0, iterations_for(options_.effort, model),
                   any_order);
}

// The least time or energy in the RAM asked for. `found`: its plan, where that meets all limits.
Infeasible::Least InfeasibilitySearch::least_of(Objective objective, double proved, std::optional<Plan>& found) {
  PlanOptions own = options_;
  own.question.objective = objective;
  drop_limits(own);
  if (until_) own.time_limit = kShare * seconds_left();
  Solver solver(graph_, own, until_);
  std::optional<Plan> plan = solver.solve_and_prove();
  Infeasible::Least least{.proved = proved, .of_order = proved};
  if (!plan) return least;
  solver.prove_for(value_of(*plan));
  least.known = value_of(*plan);
  if (options_.question.freedoms.reordering)
    if (const Prover::Proof all = solver.proved().any_order_proof(); all.certificate && all.bound > proved)
      least.proved = least.of_order = all.bound, least.certificate = all.certificate;
  if (std::optional<Certificate> certificate = solver.proved().certificate();
      certificate && solver.proved().bound() > least.of_order) {
    least.of_order = solver.proved().bound();
    if (of_all_plans(*certificate)) least.proved = least.of_order;
    if (of_all_plans(*certificate) || !least.certificate) least.certificate = std::move(certificate);
  }
  plan->question.objective = options_.question.objective;
  if (answers(*plan, graph_, options_)) found = std::move(plan);
  return least;
}

// By bisection between the largest working set and what the unplanned step takes: the same budgets whatever was asked, so
// that there is a plan for a budget that an answer named.
std::optional<Plan> InfeasibilitySearch::smallest_plan(Bytes working_set) {
  PlanOptions own = options_;
  own.effort = kEffort;
  std::optional<Plan> best = unplanned_step(own);
  if (best) halve_budget(own, working_set, *best);
  return best;
}

// In the arena that it takes. Without the limits, where it does not meet them: these leave `options` then.
std::optional<Plan> InfeasibilitySearch::unplanned_step(PlanOptions& options) {
  std::optional<Plan> plan = Solver(graph_, options, until_).keep_everything();
  if (!plan && (options.question.deadline || options.question.energy_limit)) {
    known_.without_limits = true;
    drop_limits(options);
    plan = Solver(graph_, options, until_).keep_everything();
  }
  if (plan) plan->question.budget = plan->predicted.arena_bytes;
  return plan;
}

void InfeasibilitySearch::halve_budget(PlanOptions options, Bytes low, Plan& best) {
  Bytes high = best.question.budget_bytes();
  low = std::max<Bytes>(1, std::min(low, high));
  double longest = 0;  // of a step: one that is begun is not cut off
  for (int step = 0; step < kSteps && high - low > high / 200 && seconds_left() > longest; ++step) {
    const double before = seconds_left();
    options.question.budget = low + (high - low) / 2;
    std::optional<Plan> found;
    if (options.question.budget_bytes() >= known_.min_ram_bound_bytes) found = Solver(graph_, options, until_).solve();
    if (found) {
      high = found->predicted.arena_bytes;
      found->question.budget = high;
      best = std::move(*found);
    } else {
      low = options.question.budget_bytes();
    }
    if (until_) longest = std::max(longest, before - seconds_left());
  }
}

}  // namespace pantoum::plan
