#include "plan/infeasibility_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "plan/bound/ram_bound.h"
#include "plan/finalize.h"
#include "plan/infeasibility_report.h"
#include "problem/objective_values.h"

namespace pantoum::plan {
namespace {

constexpr double kShare = 0.3;  // of the time that is left, for one question
constexpr int64_t kEffort = 1;  // for each budget that is tried
constexpr int kSteps = 10;

}  // namespace

Inquest::Inquest(const CostGraph& graph, const PlanOptions& options, Solver::Clock::time_point begin)
    : graph_(graph), options_(options) {
  if (options.effort == 0)
    until_ =
        begin + std::chrono::duration_cast<Solver::Clock::duration>(std::chrono::duration<double>(options.time_limit));
  options_.warm_start = nullptr;
  options_.progress = nullptr;
}

std::optional<Plan> Inquest::run(const Solver& solver, const WorkingSet& least) {
  known_.min_ram_bound_bytes = least.bytes;
  known_.why = least.why;
  std::optional<Plan> found;
  if (options_.question.budget_bytes() >= least.bytes) {
    raise_ram_bound(solver.model());
    if (options_.question.deadline) known_.time_s = least_of(Objective::kTime, solver.bounds().time, found);
    if (options_.question.energy_limit && !found)
      known_.energy_j = least_of(Objective::kEnergy, solver.bounds().energy, found);
    if (found) return found;
    if (proved_infeasible(options_, known_))  // the limits are out of reach in this RAM, and so in less
      known_.min_ram_bound_bytes = std::max(known_.min_ram_bound_bytes, options_.question.budget_bytes() + 1);
  }
  known_.min_plan = smallest_plan();
  if (!known_.min_plan) return std::nullopt;
  known_.min_ram_bytes = known_.min_plan->predicted.arena_bytes;
  if (known_.without_limits || known_.min_ram_bytes > options_.question.budget_bytes()) return std::nullopt;
  return known_.min_plan;
}

Infeasible Inquest::known(const CostGraph& original) {
  if (known_.min_plan) {
    PlanOptions own = options_;
    own.question.budget = known_.min_ram_bytes;
    if (known_.without_limits) own.question.deadline.reset(), own.question.energy_limit.reset();
    conclude(*known_.min_plan, original, Solver(graph_, own), own);
  }
  return std::move(known_);
}

Seconds Inquest::seconds_left() const {
  return until_ ? std::chrono::duration<double>(*until_ - Solver::Clock::now()).count() : HUGE_VAL;
}

// Where the largest working set is not all that there is to say.
void Inquest::raise_ram_bound(const Model& model) {
  if (options_.question.freedoms.paging && model.paging && !options_.question.deadline &&
      !options_.question.energy_limit)
    return;
  RamBound bound =
      ram_bound(model, options_, until_ ? kShare * seconds_left() : 0, iterations_for(options_.effort, model));
  if (bound.bytes <= known_.min_ram_bound_bytes) return;
  known_.min_ram_bound_bytes = bound.bytes;
  if (!bound.why.empty()) known_.why = std::move(bound.why);
  known_.ram_certificate = std::move(bound.certificate);
}

// The least time or energy in the RAM asked for. `found`: its plan, where that meets all limits.
Infeasible::Least Inquest::least_of(Objective objective, double proved, std::optional<Plan>& found) {
  PlanOptions own = options_;
  own.question.objective = objective;
  own.question.deadline.reset();
  own.question.energy_limit.reset();
  if (until_) own.time_limit = kShare * seconds_left();
  Solver solver(graph_, own, until_);
  std::optional<Plan> plan = solver.solve_and_prove();
  if (!plan) return {.known = std::nullopt, .proved = proved};
  solver.prove_for(value_of(*plan));
  const Infeasible::Least least{.known = value_of(*plan), .proved = std::max(proved, solver.bound())};
  plan->question.objective = options_.question.objective;
  if (answers(*plan, graph_, options_)) found = std::move(plan);
  return least;
}

// By bisection between what is proved impossible and what keeps everything; without the limits, where keeping
// everything does not meet them.
std::optional<Plan> Inquest::smallest_plan() {
  PlanOptions own = options_;
  own.effort = kEffort;
  std::optional<Plan> best = Solver(graph_, own, until_).keep_everything();
  if (!best && (own.question.deadline || own.question.energy_limit)) {
    known_.without_limits = true;
    own.question.deadline.reset(), own.question.energy_limit.reset();
    best = Solver(graph_, own, until_).keep_everything();
  }
  if (!best) return best;
  best->question.budget = best->predicted.arena_bytes;
  Bytes low = std::max<Bytes>(1, std::min(known_.min_ram_bound_bytes, best->question.budget_bytes())),
        high = best->question.budget_bytes();
  double longest = 0;  // of a step: one that is begun is not cut off
  for (int step = 0; step < kSteps && high - low > high / 200 && seconds_left() > longest; ++step) {
    const double before = seconds_left();
    own.question.budget = low + (high - low) / 2;
    std::optional<Plan> found = Solver(graph_, own, until_).solve();
    if (found) {
      high = found->predicted.arena_bytes;
      found->question.budget = high;
      best = std::move(found);
    } else {
      low = own.question.budget_bytes();
    }
    if (until_) longest = std::max(longest, before - seconds_left());
  }
  return best;
}

}  // namespace pantoum::plan
