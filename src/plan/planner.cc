#include "plan/planner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "plan/bound.h"
#include "plan/bound_search.h"
#include "plan/chains.h"
#include "plan/edp_bound.h"
#include "plan/lp_start.h"
#include "plan/objective.h"
#include "plan/order.h"
#include "plan/predict.h"
#include "plan/ram_bound.h"
#include "plan/realize.h"
#include "plan/refusal.h"
#include "plan/search.h"

namespace pantoum::plan {
namespace {

using Clock = std::chrono::steady_clock;

using Until = std::optional<Clock::time_point>;  // nothing: no clock, or only the options' own

constexpr int kChains = 4;  // independent searches; whatever the number of threads
constexpr int64_t kRoundsPerEffort = 250;
constexpr double kPlacementShare = 0.1;   // of the time limit
constexpr double kMostShare = 1 - 1e-12;  // of a limit on energy: the search's sums and the plan's differ by rounding

constexpr double kStartShare = 0.2;     // of the time limit, for the search for a start where time counts
constexpr double kTransferShare = 0.1;  // of the time taken so far, for fewer transfers among the fastest plans
constexpr double kHopeShare = 0.75;     // of the time limit, for a search that finds nothing

class Planner {
 public:
  Planner(const CostGraph& graph, const PlanOptions& options, Until until = {})
      : graph_(graph),
        options_(options),
        begin_(Clock::now()),
        until_(until),
        model_(make_model(graph_, options_)),
        bounds_(lower_bounds(model_, options.ram, options.paging, options.remat)),
        proof_(model_, options_, options.objective == Objective::kEnergy ? bounds_.energy : bounds_.time),
        product_(model_, options_, bounds_) {
    if (!options_.remat) forbid_recomputing();
  }

  // A plan for the budget, or nothing within the limits; by the clock the bound is raised beside the search.
  std::optional<Plan> solve_and_prove() {
    if (options_.effort > 0) return solve();
    std::jthread prover([this] { prove(); });
    std::optional<Plan> plan = solve();
    searched_for_nothing_ = !plan;
    return plan;
  }

  // Raises the bound, where that is not done yet, towards a plan's value.
  void prove_for(double value) {
    value_ = value;
    if (options_.effort == 0 && !searched_for_nothing_) return;
    searched_for_nothing_ = false;
    prove();
  }

  // A plan for the budget, or nothing within the limits.
  std::optional<Plan> solve() {
    Limit limit{.ram = options_.ram,
                .deadline = options_.deadline.value_or(0),
                .most_energy = options_.most_energy.value_or(0) * kMostShare,
                .objective = options_.objective};
    const Policy keep = keep_all(model_, first_choices(model_, options_.objective));
    SearchResult found = greedy(model_, limit, keep, limits(0));
    lean_choices(limit, found);
    if (options_.objective != Objective::kEnergy) found = from_cheapest(limit, found);
    std::optional<Plan> best;
    for (int attempt = 0; attempt < 8; ++attempt) {
      found = best_chain(limit, found);
      if (!found.outcome.fits() && attempt > 0) break;
      if (found.outcome.fits()) value_ = std::min(value_.load(), found.outcome.value);
      if (options_.objective == Objective::kTime && found.outcome.fits()) found = with_fewest_transfers(limit, found);
      best = realize(limit, found);
      if (best || found.outcome.excess > 0 || !found.outcome.sound || (out_of_time() && attempt > 1)) break;
      const bool earlier = late_ > 0 && model_.uses(Switch::kEarlier);
      if (excess_ <= 0 && !earlier) break;
      if (excess_ > 0) limit.ram -= std::max(excess_, options_.ram / 400);   // plan again: the offsets did not fit
      if (earlier) limit.deadline -= std::max(late_, limit.deadline / 400);  // or cost time
      if (limit.ram <= 0 || (earlier && limit.deadline <= 0)) break;
      found = greedy(model_, limit, found.policy, limits(0));
    }
    return best;
  }

  std::optional<Plan> keep_everything() {
    const Limit limit{.ram = std::numeric_limits<Bytes>::max() / 4, .objective = options_.objective};
    return realize(limit, greedy(model_, limit, keep_all(model_, first_choices(model_, options_.objective)), limits(0)),
                   0);
  }

  [[nodiscard]] const Model& model() const { return model_; }
  // What is proved of the question: the objective's bound raised by the search for one.
  [[nodiscard]] Bounds bounds() const {
    if (by_product()) return product_.least();
    Bounds proved = bounds_;
    (options_.objective == Objective::kEnergy ? proved.energy : proved.time) = bound();
    return proved;
  }
  [[nodiscard]] double bound() const { return by_product() ? product_.bound() : proof_.bound(); }
  // Of bound(), where a linear program has proved it.
  [[nodiscard]] std::optional<Certificate> certificate() const {
    if (by_product()) return std::nullopt;
    const std::optional<Certificate>& certificate = proof_.certificate();
    return certificate && certificate->bound >= bound() ? certificate : std::nullopt;
  }
  [[nodiscard]] std::vector<Certificate> lines() const {
    return by_product() ? product_.lines() : std::vector<Certificate>{};
  }
  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  [[nodiscard]] bool by_product() const { return options_.objective == Objective::kEdp; }

  void prove() {
    const auto left = [this] { return searched_for_nothing_ ? 0 : seconds_left(); };
    const auto value = [this] { return value_.load(); };
    if (by_product())
      product_.run({.seconds_left = left, .value = value, .effort = options_.effort});
    else
      proof_.run({.seconds_left = left,
                  .value = value,
                  .effort = options_.effort,
                  .solved = [this](const Relaxation& relaxation, const std::vector<double>& point) {
                    take_up(relaxation, point);
                  }});
  }

  void take_up(const Relaxation& relaxation, const std::vector<double>& point) {
    if (options_.effort > 0) return;  // when a solution comes is a matter of the clock
    Policy near = policy_near(relaxation, point, first_choices(model_, options_.objective));
    const std::lock_guard lock(near_mutex_);
    near_solution_ = std::move(near);
  }

  [[nodiscard]] int thread_count() const {
    return options_.threads > 0 ? options_.threads
                                : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  }

  void forbid_recomputing() {
    for (TensorModel& tensor : model_.tensors)
      if (tensor.start != cost::Home::kAux) tensor.can_drop = false;
  }

  [[nodiscard]] double seconds_left() const {
    if (options_.stop.stop_requested()) return 0;
    return options_.time_limit * (1 - kPlacementShare) - 0.05 - elapsed();
  }
  [[nodiscard]] bool out_of_time() const {
    if (options_.stop.stop_requested() || (until_ && Clock::now() >= *until_)) return true;
    if (options_.effort > 0) return false;
    const double share = std::isfinite(value_.load()) ? 1 - kPlacementShare : kHopeShare;
    return elapsed() > options_.time_limit * share - 0.05;
  }

  SearchLimits limits(int64_t rounds) const {
    return {.rounds = rounds, .stop = [this] { return out_of_time(); }, .target = target()};
  }
  [[nodiscard]] double target() const { return bound() / std::max(1e-9, 1 - options_.gap); }

  // Where even giving everything up does not fit: leaner kernels for the ops that are too large.
  void lean_choices(const Limit& limit, SearchResult& found) {
    if (found.outcome.fits() || !model_.uses(Switch::kLeanChoices)) return;
    Simulator simulator(model_, limit);
    simulator.reset(found.policy);
    for (size_t op = 0; op < model_.ops.size(); ++op) {
      if (simulator.peak(model_.ops[op].stage) <= limit.ram) continue;
      for (int32_t choice = 0; choice < static_cast<int32_t>(model_.ops[op].choices.size()); ++choice) {
        if (choice == simulator.policy().choices[op]) continue;
        const Outcome before = simulator.outcome(), after = simulator.propose_choice(static_cast<int32_t>(op), choice);
        if (after.sound && after.excess < before.excess)
          simulator.accept();
        else
          simulator.reject();
      }
    }
    if (simulator.outcome().excess < found.outcome.excess) found = greedy(model_, limit, simulator.policy(), limits(0));
  }

  SearchResult best_chain(const Limit& limit, const SearchResult& start) {
    const int threads = thread_count();
    double improved_at = elapsed();
    ChainLimits chains{.chains = kChains, .threads = threads, .search = limits(0)};
    if (options_.effort > 0) {
      chains.rounds = options_.effort * kRoundsPerEffort;
    } else {
      chains.chains = std::clamp(threads, 2, kChains);
      chains.stagnant = [&, this] { return stagnant(improved_at); };
      chains.search.stop = [this] { return out_of_time() || value_.load() <= target(); };  // the bound rises meanwhile
    }
    chains.improved = [&, this](const Outcome& best) {
      improved_at = elapsed();
      report(best.value);
    };
    if (options_.effort == 0 && model_.uses(Switch::kLpStart))
      chains.hint = [this] {
        const std::lock_guard lock(near_mutex_);
        return std::exchange(near_solution_, std::nullopt);
      };
    return anneal_chains(model_, limit, start, chains);
  }

  // A search for something else than the objective, which no bound ends; `stagnant` is asked with the time at which it
  // last got better.
  SearchResult aside(const Limit& limit, const SearchResult& start, const std::function<bool(double)>& stagnant) {
    double improved_at = elapsed();
    ChainLimits chains{.chains = kChains, .threads = thread_count(), .search = limits(0)};
    chains.search.target = 0;
    if (options_.effort > 0) {
      chains.rounds = options_.effort * kRoundsPerEffort;
    } else {
      chains.stagnant = [&] { return stagnant(improved_at); };
      chains.improved = [&, this](const Outcome&) { improved_at = elapsed(); };
    }
    return anneal_chains(model_, limit, start, chains);
  }

  // Where time counts, a plan that is sought for its energy alone (which is quick: no clock is simulated), with its
  // page-ins moved ahead, is often the better start.
  SearchResult from_cheapest(const Limit& limit, const SearchResult& start) {
    Limit cheap = limit;
    cheap.objective = Objective::kEnergy;
    cheap.deadline = 0;
    const SearchResult from =
        greedy(model_, cheap, keep_all(model_, first_choices(model_, options_.objective)), limits(0));
    const SearchResult cheapest = aside(cheap, from, [this](double improved_at) {
      return elapsed() >
             std::min(2 * improved_at + kStartShare / 10 * options_.time_limit, kStartShare * options_.time_limit);
    });
    const Policy hoisted = hoist(model_, limit, cheapest.policy, limits(0));
    SearchResult found{hoisted, Simulator(model_, limit).reset(hoisted)};
    return better(found.outcome, start.outcome) ? found : start;
  }

  // Among the plans that are as fast, one that moves fewer bytes.
  SearchResult with_fewest_transfers(const Limit& limit, const SearchResult& fast) {
    Limit own = limit;
    own.deadline = fast.outcome.time * (1 + 1e-12);
    own.fewest = true;
    const SearchResult start{fast.policy, Simulator(model_, own).reset(fast.policy)};
    if (!start.outcome.fits() || start.outcome.value <= 0) return fast;
    const SearchResult fewest = aside(own, start, [this](double improved_at) {
      return elapsed() > (1 + kTransferShare) * improved_at + kTransferShare / 10 * options_.time_limit;
    });
    SearchResult found{fewest.policy, Simulator(model_, limit).reset(fewest.policy), fast.price};
    return found.outcome.fits() && found.outcome.value <= fast.outcome.value ? found : fast;
  }

  // Nothing better for twice as long as it took to come here, and a share of the limit.
  [[nodiscard]] bool stagnant(double improved_at) const {
    return elapsed() > 3 * improved_at + 0.2 * std::min<Seconds>(options_.time_limit, 60);
  }

  void report(double best) {
    value_ = best;
    if (!options_.progress) return;
    const std::lock_guard lock(progress_mutex_);
    options_.progress({.elapsed = elapsed(), .best = best, .bound = bound()});
  }

  // Offsets, exact figures, storage; nothing when the offsets do not fit (`excess_` says by how much) or the deadline
  // is missed.
  std::optional<Plan> realize(const Limit& limit, const SearchResult& found,
                              std::optional<Bytes> capacity = std::nullopt) {
    excess_ = 0, late_ = 0;
    if (!found.outcome.fits()) return std::nullopt;
    const Policy hoisted = hoist(model_, limit, found.policy, limits(0));
    std::optional<Plan> plan = place_policy(limit, hoisted, capacity);
    if (!plan && !(hoisted == found.policy)) plan = place_policy(limit, found.policy, capacity);
    return plan;
  }

  std::optional<Plan> place_policy(const Limit& limit, const Policy& policy, std::optional<Bytes> capacity) {
    Simulator simulator(model_, limit);
    simulator.reset(policy);
    PlanOptions placing = options_;
    if (until_) {  // the clock counts for the offsets too
      placing.effort = 0;
      placing.time_limit = std::max(0.0, std::chrono::duration<double>(*until_ - Clock::now()).count());
    }
    Realized realized = plan::realize(graph_, model_, simulator.events(), placing, capacity.value_or(options_.ram));
    excess_ = realized.excess;
    late_ = realized.late;
    return std::move(realized.plan);
  }

  const CostGraph& graph_;
  PlanOptions options_;
  Clock::time_point begin_;
  Until until_;
  Model model_;
  Bounds bounds_;
  BoundSearch proof_;
  EdpBound product_;                                                    // in its place for edp
  std::atomic<double> value_{std::numeric_limits<double>::infinity()};  // of the best policy so far
  std::atomic<bool> searched_for_nothing_{false};
  Bytes excess_ = 0;  // of the last policy whose offsets were sought, where they did not fit
  Seconds late_ = 0;  // where they cost too much time
  std::mutex progress_mutex_;
  std::mutex near_mutex_;
  std::optional<Policy> near_solution_;  // of the relaxation's last solution, not yet taken up by the search
};

// The graph with its updates behind the readers of what they update, unless another order was asked to be kept.
CostGraph reordered(const CostGraph& graph, const PlanOptions& options) {
  CostGraph ordered = graph;
  if (options.reorder) ordered.order = updates_last(graph);
  return ordered;
}

// Does the plan first compute its ops in the model's order, for which alone the bounds hold?
bool keeps_order(const Plan& plan, const Model& model) {
  std::map<int64_t, int32_t> stages;
  for (const OpModel& op : model.ops) stages.emplace(op.id, op.stage);
  std::set<int64_t> computed;
  int32_t last = 0;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.what != Do::kCompute || !computed.insert(instruction.subject).second) continue;
    const int32_t stage = stages.at(instruction.subject);
    if (stage < last) return false;
    last = stage;
  }
  return true;
}

// Method, bound, gap and status of a plan that is about to be answered.
void conclude(Plan& plan, const CostGraph& original, const Planner& planner, const PlanOptions& options) {
  plan.graph = original;
  plan.method = "policies with thresholds: greedy, annealing, exchanges; linear relaxation with cuts, branch and bound";
  plan.solver_seconds = options.effort > 0 ? 0 : planner.elapsed();
  plan.bound = {.energy_j = planner.bounds().energy, .time_s = planner.bounds().time, .any_order = false};
  if (plan.objective == Objective::kEdp) plan.bound.edp_js = planner.bound();
  const double value = value_of(plan), bound = planner.bound();
  plan.certificate = planner.certificate();
  plan.lines = planner.lines();
  if (!keeps_order(plan, planner.model())) {  // a warm start of another order: nothing is proved for that
    plan.bound = {}, plan.certificate.reset(), plan.lines.clear(), plan.gap = 1, plan.status = Status::kFeasible;
    return;
  }
  plan.gap = value > 0 ? std::max(0.0, (value - bound) / value) : 0;
  plan.status = plan.gap <= options.gap ? Status::kOptimal : Status::kFeasible;
}

// Is a plan made for another budget an answer to this question?
bool answers(const Plan& warm, const CostGraph& graph, const PlanOptions& options) {
  if (cost::structure_hash(warm.graph) != cost::structure_hash(graph) || warm.predicted.arena_bytes > options.ram)
    return false;
  for (const auto& [tensor, at] : options.fixed_initial)
    if (const auto own = warm.initial.find(tensor); own == warm.initial.end() || own->second != at) return false;
  const std::optional<Predicted> now = predict(graph, warm);
  return now && now->arena_bytes <= options.ram && (!options.deadline || now->time_s <= *options.deadline) &&
         (!options.most_energy || now->energy_j <= *options.most_energy);
}

void keep_better_warm_start(std::optional<Plan>& best, const CostGraph& graph, const PlanOptions& options) {
  if (options.warm_start == nullptr || !answers(*options.warm_start, graph, options)) return;
  Plan warm = *options.warm_start;
  warm.graph = graph;
  warm.predicted = *predict(graph, warm);
  warm.budget_bytes = options.ram;
  warm.deadline_s = options.deadline;
  warm.most_energy_j = options.most_energy;
  warm.objective = options.objective;
  if (!best || value_of(warm) <= value_of(*best)) best = std::move(warm);
}

// What is known of a question for which no plan was found, and what can be found out in the time that is left.
class Inquest {
 public:
  Inquest(const CostGraph& graph, const PlanOptions& options, Clock::time_point begin)
      : graph_(graph), options_(options) {
    if (options.effort == 0)
      until_ = begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.time_limit));
    options_.warm_start = nullptr;
    options_.progress = nullptr;
  }

  // A plan that meets the budget and the limits after all, or nothing.
  std::optional<Plan> run(const Planner& planner, const WorkingSet& least) {
    known_.min_ram_bound_bytes = least.bytes;
    known_.why = least.why;
    std::optional<Plan> found;
    if (options_.ram >= least.bytes) {
      raise_ram_bound(planner.model());
      if (options_.deadline) known_.time_s = least_of(Objective::kTime, planner.bounds().time, found);
      if (options_.most_energy && !found)
        known_.energy_j = least_of(Objective::kEnergy, planner.bounds().energy, found);
      if (found) return found;
      if (proved_infeasible(options_, known_))  // the limits are out of reach in this RAM, and so in less
        known_.min_ram_bound_bytes = std::max(known_.min_ram_bound_bytes, options_.ram + 1);
    }
    known_.min_plan = smallest_plan();
    if (!known_.min_plan) return std::nullopt;
    known_.min_ram_bytes = known_.min_plan->predicted.arena_bytes;
    if (known_.without_limits || known_.min_ram_bytes > options_.ram) return std::nullopt;
    return known_.min_plan;
  }

  // Bound and status of the smallest plan are those of its own question.
  Infeasible known(const CostGraph& original) {
    if (known_.min_plan) {
      PlanOptions own = options_;
      own.ram = known_.min_ram_bytes;
      if (known_.without_limits) own.deadline.reset(), own.most_energy.reset();
      conclude(*known_.min_plan, original, Planner(graph_, own), own);
    }
    return std::move(known_);
  }

 private:
  static constexpr double kShare = 0.3;  // of the time that is left, for one question
  static constexpr int64_t kEffort = 4, kIterationsPerEffort = 1000;
  static constexpr int kSteps = 10;

  [[nodiscard]] double seconds_left() const {
    return until_ ? std::chrono::duration<double>(*until_ - Clock::now()).count() : HUGE_VAL;
  }

  // Where the largest working set is not all that there is to say.
  void raise_ram_bound(const Model& model) {
    if (options_.paging && model.paging && !options_.deadline && !options_.most_energy) return;
    RamBound bound =
        ram_bound(model, options_, until_ ? kShare * seconds_left() : 0, options_.effort * kIterationsPerEffort);
    if (bound.bytes <= known_.min_ram_bound_bytes) return;
    known_.min_ram_bound_bytes = bound.bytes;
    if (!bound.why.empty()) known_.why = std::move(bound.why);
    known_.ram_certificate = std::move(bound.certificate);
  }

  // The least time or energy in the RAM asked for. `found`: its plan, where that meets all limits.
  Infeasible::Least least_of(Objective objective, double proved, std::optional<Plan>& found) {
    PlanOptions own = options_;
    own.objective = objective;
    own.deadline.reset();
    own.most_energy.reset();
    if (until_) own.time_limit = kShare * seconds_left();
    Planner planner(graph_, own, until_);
    std::optional<Plan> plan = planner.solve_and_prove();
    if (!plan) return {.known = std::nullopt, .proved = proved};
    planner.prove_for(value_of(*plan));
    const Infeasible::Least least{.known = value_of(*plan), .proved = std::max(proved, planner.bound())};
    plan->objective = options_.objective;
    if (answers(*plan, graph_, options_)) found = std::move(plan);
    return least;
  }

  // By bisection between what is proved impossible and what keeps everything; without the limits, where keeping
  // everything does not meet them.
  std::optional<Plan> smallest_plan() {
    PlanOptions own = options_;
    own.effort = kEffort;
    std::optional<Plan> best = Planner(graph_, own, until_).keep_everything();
    if (!best && (own.deadline || own.most_energy)) {
      known_.without_limits = true;
      own.deadline.reset(), own.most_energy.reset();
      best = Planner(graph_, own, until_).keep_everything();
    }
    if (!best) return best;
    best->budget_bytes = best->predicted.arena_bytes;
    Bytes low = std::max<Bytes>(1, std::min(known_.min_ram_bound_bytes, best->budget_bytes)), high = best->budget_bytes;
    double longest = 0;  // of a step: one that is begun is not cut off
    for (int step = 0; step < kSteps && high - low > high / 200 && seconds_left() > longest; ++step) {
      const double before = seconds_left();
      own.ram = low + (high - low) / 2;
      std::optional<Plan> found = Planner(graph_, own, until_).solve();
      if (found) {
        high = found->predicted.arena_bytes;
        found->budget_bytes = high;
        best = std::move(found);
      } else {
        low = own.ram;
      }
      if (until_) longest = std::max(longest, before - seconds_left());
    }
    return best;
  }

  const CostGraph& graph_;
  PlanOptions options_;
  Until until_;
  Infeasible known_;
};

}  // namespace

Result<Plan> make_plan(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible) {
  if (options.ram <= 0)
    return fail("E0300", "a budget of 0 bytes", "--ram", "give the RAM that the step may use, as in --ram 256KiB");
  const Clock::time_point begin = Clock::now();
  const CostGraph ordered = reordered(graph, options);
  Planner planner(ordered, options);
  const WorkingSet least = least_ram(planner.model());
  const Bounds bounds = planner.bounds();
  const bool hopeless = options.ram < least.bytes || (options.deadline && bounds.time > *options.deadline) ||
                        (options.most_energy && bounds.energy > *options.most_energy);
  std::optional<Plan> best;
  if (!hopeless) best = planner.solve_and_prove();
  keep_better_warm_start(best, graph, options);
  if (!best) {
    Inquest inquest(ordered, options, begin);
    best = inquest.run(planner, least);
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
  planner.prove_for(value_of(*best));
  conclude(*best, graph, planner, options);
  return std::move(*best);
}

Result<Plan> unplanned(const CostGraph& graph, const PlanOptions& options) {
  PlanOptions all = options;
  all.ram = std::numeric_limits<Bytes>::max() / 4;
  all.effort = 1;
  all.warm_start = nullptr;
  const CostGraph ordered = reordered(graph, all);
  Planner planner(ordered, all);
  std::optional<Plan> plan = planner.keep_everything();
  if (!plan)
    return fail("E0306", "the step cannot be run even with all its tensors in RAM", graph.name,
                "check 'end', 'next' and 'recompute' in the cost graph");
  plan->budget_bytes = plan->predicted.arena_bytes;
  conclude(*plan, graph, planner, all);
  return std::move(*plan);
}

}  // namespace pantoum::plan
