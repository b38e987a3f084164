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

#include "plan/bound.h"
#include "plan/bound_search.h"
#include "plan/chains.h"
#include "plan/order.h"
#include "plan/predict.h"
#include "plan/realize.h"
#include "plan/search.h"

namespace pantoum::plan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kChains = 4;  // independent searches; whatever the number of threads
constexpr int64_t kRoundsPerEffort = 250;
constexpr double kPlacementShare = 0.1;  // of the time limit

class Planner {
 public:
  Planner(const CostGraph& graph, const PlanOptions& options)
      : graph_(graph),
        options_(options),
        begin_(Clock::now()),
        model_(make_model(graph_, options_)),
        bounds_(lower_bounds(model_, options.ram, options.paging, options.remat)),
        proof_(model_, options_, options.objective == Objective::kEnergy ? bounds_.energy : bounds_.time) {
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
    Limit limit{.ram = options_.ram, .deadline = options_.deadline.value_or(0), .objective = options_.objective};
    const Policy keep = keep_all(model_, first_choices(model_, options_.objective));
    SearchResult found = greedy(model_, limit, keep, limits(0));
    lean_choices(limit, found);
    std::optional<Plan> best;
    for (int attempt = 0; attempt < 8; ++attempt) {
      found = best_chain(limit, found);
      if (!found.outcome.fits() && attempt > 0) break;
      if (found.outcome.fits()) value_ = std::min(value_.load(), found.outcome.value);
      best = realize(limit, found);
      if (best || found.outcome.excess > 0 || !found.outcome.sound || (out_of_time() && attempt > 1)) break;
      if (excess_ <= 0) break;
      limit.ram -= std::max(excess_, options_.ram / 400);  // plan again with less: the offsets did not fit
      if (limit.ram <= 0) break;
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
    Bounds proved = bounds_;
    (options_.objective == Objective::kEnergy ? proved.energy : proved.time) = bound();
    return proved;
  }
  [[nodiscard]] double bound() const { return proof_.bound(); }
  // Of bound(), where a linear program has proved it.
  [[nodiscard]] std::optional<Certificate> certificate() const {
    const std::optional<Certificate>& certificate = proof_.certificate();
    return certificate && certificate->bound >= bound() ? certificate : std::nullopt;
  }
  [[nodiscard]] double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }

 private:
  void prove() {
    proof_.run({.seconds_left = [this] { return searched_for_nothing_ ? 0 : seconds_left(); },
                .value = [this] { return value_.load(); },
                .effort = options_.effort});
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
    if (options_.stop.stop_requested()) return true;
    return options_.effort == 0 && elapsed() > options_.time_limit * (1 - kPlacementShare) - 0.05;
  }

  SearchLimits limits(int64_t rounds) const {
    return {.rounds = rounds, .stop = [this] { return out_of_time(); }, .target = target()};
  }
  [[nodiscard]] double target() const { return bound() / std::max(1e-9, 1 - options_.gap); }

  // Where even giving everything up does not fit: leaner kernels for the ops that are too large.
  void lean_choices(const Limit& limit, SearchResult& found) {
    if (found.outcome.fits()) return;
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
    const int threads =
        options_.threads > 0 ? options_.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
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
    return anneal_chains(model_, limit, start, chains);
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
    excess_ = 0;
    if (!found.outcome.fits()) return std::nullopt;
    const Policy hoisted = hoist(model_, limit, found.policy, limits(0));
    std::optional<Plan> plan = place_policy(limit, hoisted, capacity);
    if (!plan && !(hoisted == found.policy)) plan = place_policy(limit, found.policy, capacity);
    return plan;
  }

  std::optional<Plan> place_policy(const Limit& limit, const Policy& policy, std::optional<Bytes> capacity) {
    Simulator simulator(model_, limit);
    simulator.reset(policy);
    Realized realized = plan::realize(graph_, model_, simulator.events(), options_, capacity.value_or(options_.ram));
    excess_ = realized.excess;
    return std::move(realized.plan);
  }

  const CostGraph& graph_;
  PlanOptions options_;
  Clock::time_point begin_;
  Model model_;
  Bounds bounds_;
  BoundSearch proof_;
  std::atomic<double> value_{std::numeric_limits<double>::infinity()};  // of the best policy so far
  std::atomic<bool> searched_for_nothing_{false};
  Bytes excess_ = 0;
  std::mutex progress_mutex_;
};

// The graph with its updates behind the readers of what they update, unless another order was asked to be kept.
CostGraph reordered(const CostGraph& graph, const PlanOptions& options) {
  CostGraph ordered = graph;
  if (options.reorder) ordered.order = updates_last(graph);
  return ordered;
}

double value_of(const Plan& plan) {
  return plan.objective == Objective::kEnergy ? plan.predicted.energy_j : plan.predicted.time_s;
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
  plan.method =
      "policies with thresholds: greedy, annealing, exchanges; linear relaxation with path, memory and knapsack cuts";
  plan.solver_seconds = options.effort > 0 ? 0 : planner.elapsed();
  plan.bound = {.energy_j = planner.bounds().energy, .time_s = planner.bounds().time, .any_order = false};
  const double value = value_of(plan),
               bound = plan.objective == Objective::kEnergy ? planner.bounds().energy : planner.bounds().time;
  plan.certificate = planner.certificate();
  if (!keeps_order(plan, planner.model())) {  // a warm start of another order: nothing is proved for that
    plan.bound = {}, plan.certificate.reset(), plan.gap = 1, plan.status = Status::kFeasible;
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
  return now && now->arena_bytes <= options.ram && (!options.deadline || now->time_s <= *options.deadline);
}

void keep_better_warm_start(std::optional<Plan>& best, const CostGraph& graph, const PlanOptions& options) {
  if (options.warm_start == nullptr || !answers(*options.warm_start, graph, options)) return;
  Plan warm = *options.warm_start;
  warm.graph = graph;
  warm.predicted = *predict(graph, warm);
  warm.budget_bytes = options.ram;
  warm.deadline_s = options.deadline;
  warm.objective = options.objective;
  if (!best || value_of(warm) <= value_of(*best)) best = std::move(warm);
}

// The smallest budget for which a plan is found, by bisection between what is proved impossible and what keeps
// everything.
std::optional<Plan> smallest_plan(const CostGraph& graph, PlanOptions options, Bytes impossible) {
  options.deadline.reset();
  options.warm_start = nullptr;
  options.effort = 4;
  options.progress = nullptr;
  std::optional<Plan> best = Planner(graph, options).keep_everything();
  if (!best) return best;
  best->budget_bytes = best->predicted.arena_bytes;
  Bytes low = std::max<Bytes>(1, impossible), high = best->predicted.arena_bytes;
  for (int step = 0; step < 10 && high - low > high / 200; ++step) {
    options.ram = low + (high - low) / 2;
    std::optional<Plan> found = Planner(graph, options).solve();
    if (found) {
      high = found->predicted.arena_bytes;
      found->budget_bytes = high;
      best = std::move(found);
    } else {
      low = options.ram;
    }
  }
  return best;
}

Error refuse(const CostGraph& graph, const CostGraph& ordered, const PlanOptions& options, const WorkingSet& least,
             const std::optional<Plan>& smallest, Infeasible* infeasible) {
  Infeasible answer{.min_ram_bytes = smallest ? smallest->predicted.arena_bytes : 0,
                    .min_ram_bound_bytes = least.bytes,
                    .why = least.why};
  if (smallest) {
    answer.min_plan = smallest;
    PlanOptions own = options;  // its bound is that of its own budget
    own.ram = answer.min_ram_bytes;
    own.deadline.reset();
    conclude(*answer.min_plan, graph, Planner(ordered, own), own);
  }
  const bool proved = options.ram < least.bytes;
  Error error{.code = proved ? "E0301" : "E0302"};
  error.message = proved ? fmt::format("no plan fits in {} bytes", options.ram)
                         : fmt::format("no plan was found for {} bytes within the limits", options.ram);
  if (options.deadline) error.message += fmt::format(" and {:.6g} s", *options.deadline);
  error.where = graph.name;
  if (smallest)
    error.notes.push_back(fmt::format(
        "the smallest RAM for which a plan is known: {} bytes ({:.1f} KiB); below {} it is proved that there is none",
        answer.min_ram_bytes, static_cast<double>(answer.min_ram_bytes) / 1024, answer.min_ram_bound_bytes));
  error.notes.push_back("at the tightest point: " + least.why);
  if (smallest)
    error.help = fmt::format("--ram {}KiB{}, or a smaller --batch", (answer.min_ram_bytes + 1023) / 1024,
                             options.deadline ? " and a later --deadline" : "");
  if (infeasible != nullptr) *infeasible = std::move(answer);
  return error;
}

}  // namespace

Result<Plan> make_plan(const CostGraph& graph, const PlanOptions& options, Infeasible* infeasible) {
  if (options.ram <= 0)
    return fail("E0300", "a budget of 0 bytes", "--ram", "give the RAM that the step may use, as in --ram 256KiB");
  const CostGraph ordered = reordered(graph, options);
  Planner planner(ordered, options);
  const WorkingSet least = least_ram(planner.model());
  std::optional<Plan> best;
  if (options.ram >= least.bytes) best = planner.solve_and_prove();
  keep_better_warm_start(best, graph, options);
  if (!best) {  // the search for the smallest budget may end within this one
    std::optional<Plan> smallest = smallest_plan(ordered, options, least.bytes);
    if (!smallest || smallest->predicted.arena_bytes > options.ram ||
        (options.deadline && smallest->predicted.time_s > *options.deadline))
      return tl::make_unexpected(refuse(graph, ordered, options, least, smallest, infeasible));
    best = std::move(smallest);
    best->budget_bytes = options.ram;
    best->deadline_s = options.deadline;
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
