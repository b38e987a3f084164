#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "base/units.h"
#include "plan/bound/lp_bound.h"
#include "plan/instance.h"
#include "plan/solver.h"

namespace pantoum::plan {
namespace {

bool beyond(const std::optional<Infeasible::Least>& least, const std::optional<double>& limit,
            double Infeasible::Least::*proved = &Infeasible::Least::proved) {
  return least && limit && (*least).*proved > *limit;
}

// The certificate, where it is of what is proved of all plans.
std::optional<Certificate> of_all(const std::optional<Infeasible::Least>& least) {
  const bool any_order = least->certificate && least->certificate->any_order;
  return any_order || least->proved >= least->of_order ? least->certificate : std::nullopt;
}

std::string limits_of(const PlanOptions& options) {
  std::string text;
  if (options.question.deadline) text += fmt::format(" and {:.6g} s", *options.question.deadline);
  if (options.question.energy_limit) text += fmt::format(" and {:.6g} J", *options.question.energy_limit);
  return text;
}

// Six digits that are no less than the value, or no more: what is told as known can be asked for, and what is told as proved is.
double six_digits(double value, double (*rounded)(double)) {
  constexpr double kRounding = 1e-9;  // a limit is kept rounding included
  if (!(value > 0) || !std::isfinite(value)) return value;
  const double unit = std::pow(10.0, std::floor(std::log10(value)) - 5);
  return unit > 0 ? rounded(value / unit * (rounded(0.5) > 0 ? 1 + kRounding : 1 - kRounding)) * unit : value;
}

void note_least(const std::optional<Infeasible::Least>& least, const char* what, const char* unit, Error& error) {
  if (!least) return;
  const std::string known =
      least->known ? fmt::format("{:.6g} {}", six_digits(*least->known, &std::ceil), unit) : "no plan";
  error.notes.push_back(
      fmt::format("the least {} known in this RAM: {}; below {:.6g} {} it is proved that there is none", what, known,
                  six_digits(least->proved, &std::floor), unit));
  if (least->of_order > least->proved)
    error.notes.push_back(
        fmt::format("below {:.6g} {} there is none that first computes the ops in the planned order; "
                    "of other orders it is not known",
                    six_digits(least->of_order, &std::floor), unit));
}

// Returns what the user can ask for instead.
std::string help_of(const PlanOptions& options, const Infeasible& known) {
  std::string help;
  if (known.min_ram_bytes > options.question.budget_bytes()) help = ram_option(known.min_ram_bytes + options.reserved);
  const bool enough = !known.without_limits && !help.empty();
  const auto add = [&](const char* what) {
    help += (help.empty() ? "" : enough ? " or " : " and ") + std::string(what);
  };
  if (options.question.deadline) add("a later --deadline");
  if (options.question.energy_limit) add("a higher --energy-limit");
  return help.empty() ? "a longer --time-limit" : help;
}

// Does what is known prove, by exactly the question asked, that no plan meets the budget and the limits?
bool proved_infeasible(const PlanOptions& options, const Infeasible& known) {
  return options.question.budget_bytes() < known.min_ram_bound_bytes ||
         beyond(known.time_s, options.question.deadline) || beyond(known.energy_j, options.question.energy_limit);
}

// Does it prove it of the plans of the planned order alone?
bool proved_for_one_order(const PlanOptions& options, const Infeasible& known) {
  constexpr auto kOfOrder = &Infeasible::Least::of_order;
  return options.question.budget_bytes() < known.order_ram_bound_bytes ||
         beyond(known.time_s, options.question.deadline, kOfOrder) ||
         beyond(known.energy_j, options.question.energy_limit, kOfOrder);
}

// ---- what can be found out in the time that is left ----

constexpr int64_t kEffort = 1;  // for each budget that is tried
constexpr int kSteps = 10;

void drop_limits(PlanOptions& options) {
  options.question.deadline.reset();
  options.question.energy_limit.reset();
}

class InfeasibilitySearch {
 public:
  // Keeps `graph` by reference. `time`: the question's.
  InfeasibilitySearch(const CostGraph& graph, const PlanOptions& options, const TimeLimit& time)
      : graph_(graph), options_(options) {
    if (options.effort == 0) until_ = time.end();
    options_.warm_start = nullptr;
    options_.progress = nullptr;
  }

  // A plan that meets the budget and the limits after all, or nothing. `solver`: of the question, which found none;
  // `least`: the largest working set of its model.
  std::optional<Plan> run(const Solver& solver, const WorkingSet& least) {
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

  // Once run() found nothing. Bound and status of the smallest plan are those of its own question.
  Infeasible known(const CostGraph& original) {
    if (known_.min_plan) {
      PlanOptions own = options_;
      own.question.budget = known_.min_ram_bytes;
      if (known_.without_limits) drop_limits(own);
      finalize(*known_.min_plan, original, Solver(graph_, own), own);
    }
    known_.refusal = refusal_of(original, options_, known_);
    return std::move(known_);
  }

 private:
  Seconds seconds_left() const {
    return until_ ? std::chrono::duration<double>(*until_ - Instance::Clock::now()).count() : HUGE_VAL;
  }

  // Finds bounds for the RAM that was asked for, and returns a plan if one meets the limits after all.
  std::optional<Plan> explore_limits(const Solver& solver) {
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
  bool of_all_plans(const Certificate& certificate) const {
    return certificate.any_order || !options_.question.freedoms.reordering;
  }

  // Raises the bound on RAM where limits or missing freedoms ask for more than the largest working set.
  void raise_ram_bound(const Model& model) {
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

  RamBound ram_bound_of(const Model& model, bool any_order) const {
    return ram_bound(model, options_, until_ ? share_of(Attempt::kLeastOfLimit) * seconds_left() : 0,
                     iterations_for(options_.effort, model), any_order);
  }

  // The least time or energy in the RAM asked for. `found`: its plan, where that meets all limits.
  Infeasible::Least least_of(Objective objective, double proved, std::optional<Plan>& found) {
    PlanOptions own = options_;
    own.question.objective = objective;
    drop_limits(own);
    if (until_) own.time_limit = share_of(Attempt::kLeastOfLimit) * seconds_left();
    Solver solver(graph_, own, until_);
    std::optional<Plan> plan = solver.solve_and_prove();
    Infeasible::Least least{.proved = proved, .of_order = proved};
    if (!plan) return least;
    solver.prove_for(value_of(*plan));
    least.known = value_of(*plan);
    if (options_.question.freedoms.reordering)
      if (const Prover::Proof all = solver.proved().any_order_proof(); all.certificate && all.bound > proved)
        least.proved = least.of_order = all.bound, least.certificate = all.certificate;
    if (Prover::Proof ordered = solver.proved().order_proof(); ordered.certificate && ordered.bound > least.of_order) {
      least.of_order = ordered.bound;
      const bool all = of_all_plans(*ordered.certificate);
      if (all) least.proved = least.of_order;
      if (all || !least.certificate) least.certificate = std::move(ordered.certificate);
    }
    plan->question.objective = options_.question.objective;
    if (answers(*plan, graph_, options_)) found = std::move(plan);
    return least;
  }

  // Bisects between the largest working set and what the unplanned step takes. The budgets that are tried do not
  // depend on the budget that was asked for, so that there is a plan for a budget that an earlier answer named.
  std::optional<Plan> smallest_plan(Bytes working_set) {
    PlanOptions own = options_;
    own.effort = kEffort;
    std::optional<Plan> best = unplanned_step(own);
    if (best) halve_budget(own, working_set, *best);
    return best;
  }

  // Returns the unplanned step, in the arena that it takes. If it does not meet the limits, it is made without them,
  // and `options` loses them.
  std::optional<Plan> unplanned_step(PlanOptions& options) {
    std::optional<Plan> plan = Solver(graph_, options, until_).keep_everything();
    if (!plan && (options.question.deadline || options.question.energy_limit)) {
      known_.without_limits = true;
      drop_limits(options);
      plan = Solver(graph_, options, until_).keep_everything();
    }
    if (plan) plan->question.budget = plan->predicted.arena_bytes;
    return plan;
  }

  void halve_budget(PlanOptions options, Bytes low, Plan& best) {
    Bytes high = best.question.budget_bytes();
    low = std::max<Bytes>(1, std::min(low, high));
    double longest = 0;  // of a step: one that is begun is not cut off
    for (int step = 0; step < kSteps && high - low > high / 200 && seconds_left() > longest; ++step) {
      const double before = seconds_left();
      options.question.budget = low + (high - low) / 2;
      std::optional<Plan> found;
      if (options.question.budget_bytes() >= known_.min_ram_bound_bytes)
        found = Solver(graph_, options, until_).solve();
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

  const CostGraph& graph_;
  PlanOptions options_;
  Instance::Until until_;
  Infeasible known_;
};

}  // namespace

std::optional<Refusal> refusal_of(const CostGraph& graph, const PlanOptions& options, const Infeasible& known) {
  const Question& asked = options.question;
  if (!proved_infeasible(options, known)) return std::nullopt;
  Refusal refusal{.question = asked, .any_order = true, .plan = known.min_plan, .graph = graph};
  refusal.question.budget = asked.budget_bytes();
  const auto prove = [&](Objective of, double least, const std::optional<Certificate>& certificate) {
    refusal.of = of;
    refusal.least = least;
    refusal.certificate = certificate;
    refusal.any_order = !certificate || certificate->any_order;
    return refusal;
  };
  if (beyond(known.time_s, asked.deadline)) return prove(Objective::kTime, known.time_s->proved, of_all(known.time_s));
  if (beyond(known.energy_j, asked.energy_limit))
    return prove(Objective::kEnergy, known.energy_j->proved, of_all(known.energy_j));
  return prove(Objective::kRam, static_cast<double>(known.min_ram_bound_bytes), known.ram_certificate);
}

std::string ram_option(Bytes bytes) {
  return fmt::format("--ram {}KiB", (bytes + 1023) / 1024);
}

Error infeasibility_report(const std::string& graph, const PlanOptions& options, const Infeasible& known) {
  const bool proved = proved_infeasible(options, known);
  const auto whole = [&](Bytes budget) { return budget + options.reserved; };
  const base::ByteUnit unit(whole(options.question.budget_bytes()));
  const std::string limits = limits_of(options);
  Error error{.code = proved ? "E0301" : "E0302"};
  error.message = proved && limits.empty() ? fmt::format("{} is too little", unit.written())
                  : proved                 ? fmt::format("no plan fits in {}{}", unit.written(), limits)
                           : fmt::format("no plan was found for {}{} within the limits", unit.written(), limits);
  std::string least;
  if (known.min_plan)
    least = fmt::format("the least known{} is {}", known.without_limits ? ", whatever time and energy it takes," : "",
                        unit.up(whole(known.min_ram_bytes)));
  if (!known.without_limits && known.min_ram_bound_bytes > 0)
    least +=
        fmt::format("{}below {} nothing fits{}", least.empty() ? "" : "; ", unit.down(whole(known.min_ram_bound_bytes)),
                    known.of_some_slices ? " in the slices that were tried" : "");
  if (!proved && proved_for_one_order(options, known))
    error.message += ": it is proved of the planned order of first computations that there is none, and not of others";
  if (proved && limits.empty() && !least.empty())
    error.message += ": " + least;
  else if (!least.empty())
    error.notes.push_back("of RAM, " + least);
  error.where = graph;
  if (options.reserved > 0)
    error.notes.push_back(
        fmt::format("{} of it are the reserve, with batches made ahead", base::show_bytes(options.reserved)));
  if (known.order_ram_bound_bytes > known.min_ram_bound_bytes)
    error.notes.push_back(
        fmt::format("below {} there is none that first computes the ops in the planned order; of "
                    "other orders it is not known",
                    unit.down(whole(known.order_ram_bound_bytes))));
  note_least(known.time_s, "time", "s", error);
  note_least(known.energy_j, "energy", "J", error);
  if (!known.why.empty()) error.notes.push_back("at the tightest point: " + known.why);
  if (known.min_plan) error.help = help_of(options, known);
  return error;
}

std::optional<Plan> plan_after_all(const CostGraph& smallest, const CostGraph& original, const PlanOptions& options,
                                   const TimeLimit& time, Infeasible& known) {
  PlanOptions rest = options;
  rest.time_limit = time.left();
  const Solver solver(smallest, rest);
  InfeasibilitySearch search(smallest, options, time);
  std::optional<Plan> found = search.run(solver, least_ram(solver.instance().model));
  if (!found) known = search.known(original);
  return found;
}

}  // namespace pantoum::plan
