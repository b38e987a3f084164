#include "plan/solver.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <utility>

#include "plan/realize/realize.h"
#include "plan/search/lp_rounding.h"
#include "plan/search/parallel_annealing.h"
#include "plan/simulate/simulate.h"
#include "problem/objective_values.h"

namespace pantoum::plan {
namespace {

constexpr int kAnnealings = 4;  // independent searches; whatever the number of threads
constexpr int64_t kRoundsPerEffort = 1000;
constexpr double kPlacementShare = 0.1;   // of the time limit
constexpr double kMostShare = 1 - 1e-12;  // of a limit on energy: the search's sums and the plan's differ by rounding

constexpr double kStartShare = 0.2;     // of the time limit, for the search for a start where time counts
constexpr double kTransferShare = 0.1;  // of the time taken so far, for fewer transfers among the fastest plans
constexpr double kHopeShare = 0.75;     // of the time limit, for a search that finds nothing
constexpr double kFirstShare = 0.6;     // of the time limit, for the first search, where offsets can cost time
constexpr double kRoundShare = 0.1;     // of the time limit, for a round of the annealings
constexpr double kMostLost = 1e-4;      // of the value that the search found, by offsets
constexpr int kMostLosses = 2;
constexpr Bytes kRoomPart = 50;

void forbid_recomputing(Model& model) {
  for (TensorModel& tensor : model.tensors)
    if (tensor.start != problem::Home::kAux) tensor.can_drop = false;
}

void keep_better(std::optional<Plan>& best, std::optional<Plan> plan) {
  if (plan && (!best || value_of(*plan) < value_of(*best))) best = std::move(plan);
}

}  // namespace

Solver::Solver(const CostGraph& graph, const PlanOptions& options, Until until)
    : graph_(graph),
      options_(options),
      begin_(Clock::now()),
      until_(until),
      model_(make_model(graph_, options_)),
      bounds_(lower_bounds(model_, options.question.budget_bytes(), options.question.freedoms.paging,
                           options.question.freedoms.recomputing)),
      proof_(model_, options_, options.question.objective == Objective::kEnergy ? bounds_.energy : bounds_.time),
      product_(model_, options_, bounds_) {
  if (!options_.question.freedoms.recomputing) forbid_recomputing(model_);
}

std::optional<Plan> Solver::solve_and_prove() {
  if (options_.effort > 0) return solve();
  std::jthread prover([this] { prove(); });
  std::optional<Plan> plan = solve();
  searched_for_nothing_ = !plan;
  return plan;
}

void Solver::prove_for(double value) {
  value_ = value;
  if (options_.effort == 0 && !searched_for_nothing_) return;
  searched_for_nothing_ = false;
  prove();
}

std::optional<Plan> Solver::solve() {
  Limit limit{.question = options_.question};
  if (limit.question.energy_limit) *limit.question.energy_limit *= kMostShare;
  const Policy keep = keep_all(model_, first_choices(model_, options_.question.objective));
  SearchResult found = greedy(model_, limit, keep, limits(0));
  if (!(found.policy == keep) || !found.outcome.fits()) lean_reads(limit, keep.choices, found);
  lean_choices(limit, found);
  std::vector<SearchResult> starts;
  if (options_.question.objective != Objective::kEnergy) {
    starts.push_back(cheapest(limit));
    const Policy prefetched = prefetch(model_, limit, starts.front().policy, limits(0));
    starts.push_back({prefetched, Simulator(model_, limit).reset(prefetched)});
    if (better(starts.back().outcome, found.outcome)) found = starts.back();
  }
  const SearchResult start = found;
  std::optional<Plan> best;
  int losses = 0;
  for (int attempt = 0; attempt < 8; ++attempt) {
    first_ = attempt == 0;
    found = best_chain(limit, found);
    if (!found.outcome.fits() && attempt > 0) break;
    if (found.outcome.fits()) value_ = std::min(value_.load(), found.outcome.value);
    if (options_.question.objective == Objective::kTime && found.outcome.fits())
      found = with_fewest_transfers(limit, found);
    std::optional<Plan> plan = realize(limit, found, options_.question.budget);
    const bool waits = plan && value_of(*plan) > found.outcome.value * (1 + kMostLost) && model_.uses(Switch::kRoomier);
    const Bytes excess = excess_;
    const Seconds late = late_;
    keep_better(best, std::move(plan));
    if (waits && ++losses <= kMostLosses) {  // for bytes that are being written out: plan again with more room for them
      if (out_of_time()) break;
      limit.question.budget = limit.question.budget_bytes() - options_.question.budget_bytes() / kRoomPart;
      found = greedy(model_, limit, start.policy, limits(0));
      continue;
    }
    if (best || found.outcome.excess > 0 || !found.outcome.sound || (out_of_time() && attempt > 1)) break;
    const bool earlier = late > 0 && limit.question.deadline && model_.uses(Switch::kEarlier);
    if (excess <= 0 && !earlier) break;
    // Plan again, with less RAM where the offsets did not fit, and for an earlier end where they cost time.
    if (excess > 0)
      limit.question.budget = limit.question.budget_bytes() - std::max(excess, options_.question.budget_bytes() / 400);
    if (earlier) *limit.question.deadline -= std::max(late, *limit.question.deadline / 400);
    if (limit.question.budget_bytes() <= 0 || (earlier && *limit.question.deadline <= 0)) break;
    found = greedy(model_, limit, found.policy, limits(0));
  }
  if (!best || losses > 0)
    for (const SearchResult& each : starts) keep_better(best, realize(limit, each, options_.question.budget));
  return best;
}

std::optional<Plan> Solver::keep_everything() {
  const Limit limit{.question = {.objective = options_.question.objective}};
  const Policy keep = keep_all(model_, first_choices(model_, options_.question.objective));
  return realize(limit, greedy(model_, limit, keep, limits(0)), {});
}

Bounds Solver::bounds() const {
  if (by_product()) return product_.least();
  Bounds proved = bounds_;
  (options_.question.objective == Objective::kEnergy ? proved.energy : proved.time) = bound();
  return proved;
}

std::optional<Certificate> Solver::certificate() const {
  if (by_product()) return std::nullopt;
  const std::optional<Certificate>& certificate = proof_.certificate();
  return certificate && certificate->bound >= bound() ? certificate : std::nullopt;
}

std::vector<Certificate> Solver::lines() const {
  return by_product() ? product_.lines() : std::vector<Certificate>{};
}

double Solver::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Solver::prove() {
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

void Solver::take_up(const Relaxation& relaxation, const std::vector<double>& point) {
  if (options_.effort > 0) return;  // when a solution comes is a matter of the clock
  Policy near = round_lp(relaxation, point, first_choices(model_, options_.question.objective));
  const std::lock_guard lock(near_mutex_);
  near_solution_ = std::move(near);
}

int Solver::thread_count() const {
  return options_.threads > 0 ? options_.threads : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

double Solver::seconds_left() const {
  if (options_.stop.stop_requested()) return 0;
  return options_.time_limit * (1 - kPlacementShare) - 0.05 - elapsed();
}

bool Solver::out_of_time() const {
  if (options_.stop.stop_requested() || (until_ && Clock::now() >= *until_)) return true;
  if (options_.effort > 0) return false;
  const bool times = model_.async && (options_.question.objective != Objective::kEnergy || model_.idle_w > 0);
  const double share = !std::isfinite(value_.load()) ? kHopeShare : first_ && times ? kFirstShare : 1 - kPlacementShare;
  return elapsed() > options_.time_limit * share - 0.05;
}

SearchLimits Solver::limits(int64_t rounds) const {
  return {.rounds = rounds, .stop = [this] { return out_of_time(); }, .target = target()};
}

double Solver::target() const {
  return bound() / std::max(1e-9, 1 - options_.gap);
}

// Where something has to be given up: from the choices that read the fewest bytes, less has to be.
void Solver::lean_reads(const Limit& limit, const Choices& choices, SearchResult& found) {
  if (!model_.uses(Switch::kLeanReads)) return;
  Choices lean = plan::lean_reads(model_, choices);
  if (lean == choices) return;
  SearchResult from = greedy(model_, limit, keep_all(model_, std::move(lean)), limits(0));
  if (better(from.outcome, found.outcome)) found = std::move(from);
}

// Where even giving everything up does not fit: leaner kernels for the ops that are too large.
void Solver::lean_choices(const Limit& limit, SearchResult& found) {
  if (found.outcome.fits() || !model_.uses(Switch::kLeanChoices)) return;
  Simulator simulator(model_, limit);
  simulator.reset(found.policy);
  for (size_t op = 0; op < model_.ops.size(); ++op) {
    if (simulator.peak(model_.ops[op].stage) <= limit.question.budget_bytes()) continue;
    for (int32_t choice = 0; choice < static_cast<int32_t>(model_.ops[op].choices.size()); ++choice) {
      if (choice == simulator.policy().choices[op]) continue;
      const Outcome before = simulator.outcome(), after = simulator.propose_choice(OpIndex(op), choice);
      if (after.sound && after.excess < before.excess)
        simulator.accept();
      else
        simulator.reject();
    }
  }
  if (simulator.outcome().excess < found.outcome.excess) found = greedy(model_, limit, simulator.policy(), limits(0));
}

SearchResult Solver::best_chain(const Limit& limit, const SearchResult& start) {
  const int threads = thread_count();
  double improved_at = elapsed();
  ParallelLimits side_by_side{.annealings = kAnnealings, .threads = threads, .search = limits(0)};
  if (options_.effort > 0) {
    side_by_side.rounds = options_.effort * kRoundsPerEffort;
  } else {
    side_by_side.annealings = std::clamp(threads, 2, kAnnealings);
    side_by_side.round = std::chrono::duration<double>(options_.time_limit * kRoundShare);
    side_by_side.stagnant = [&, this] { return stagnant(improved_at); };
    side_by_side.search.stop = [this] {
      return out_of_time() || value_.load() <= target();
    };  // the bound rises meanwhile
  }
  side_by_side.improved = [&, this](const Outcome& best) {
    improved_at = elapsed();
    report(best.value);
  };
  if (options_.effort == 0 && model_.uses(Switch::kLpRounding))
    side_by_side.hint = [this] {
      const std::lock_guard lock(near_mutex_);
      return std::exchange(near_solution_, std::nullopt);
    };
  return anneal_in_parallel(model_, limit, start, side_by_side);
}

// A search for something else than the objective, which no bound ends; `stagnant` is asked with the time at which it
// last got better.
SearchResult Solver::aside(const Limit& limit, const SearchResult& start, const std::function<bool(double)>& stagnant) {
  double improved_at = elapsed();
  ParallelLimits side_by_side{.annealings = kAnnealings, .threads = thread_count(), .search = limits(0)};
  side_by_side.search.target = 0;
  if (options_.effort > 0) {
    side_by_side.rounds = options_.effort * kRoundsPerEffort;
  } else {
    side_by_side.round = std::chrono::duration<double>(options_.time_limit * kRoundShare);
    side_by_side.stagnant = [&] { return stagnant(improved_at); };
    side_by_side.improved = [&, this](const Outcome&) { improved_at = elapsed(); };
  }
  return anneal_in_parallel(model_, limit, start, side_by_side);
}

// Where time counts, a plan that is sought for its energy alone (which is quick: no clock is simulated), with its
// page-ins moved ahead, is often the better start.
SearchResult Solver::cheapest(const Limit& limit) {
  Limit cheap = limit;
  cheap.question.objective = Objective::kEnergy;
  cheap.question.deadline.reset();
  SearchResult from = greedy(model_, cheap, keep_all(model_, first_choices(model_, Objective::kEnergy)), limits(0));
  lean_choices(cheap, from);
  SearchResult found = aside(cheap, from, [this](double improved_at) {
    return elapsed() >
           std::min(2 * improved_at + kStartShare / 10 * options_.time_limit, kStartShare * options_.time_limit);
  });
  found.outcome = Simulator(model_, limit).reset(found.policy);
  return found;
}

// Among the plans that are as fast, one that moves fewer bytes.
SearchResult Solver::with_fewest_transfers(const Limit& limit, const SearchResult& fast) {
  Limit own = limit;
  own.question.deadline = fast.outcome.time * (1 + 1e-12);
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
bool Solver::stagnant(double improved_at) const {
  return elapsed() > 3 * improved_at + 0.2 * std::min<Seconds>(options_.time_limit, 60);
}

void Solver::report(double best) {
  value_ = best;
  if (!options_.progress) return;
  const std::lock_guard lock(progress_mutex_);
  options_.progress({.elapsed = elapsed(), .best = best, .bound = bound()});
}

// Offsets, exact figures, storage; nothing when the offsets do not fit (`excess_` says by how much) or the deadline
// is missed.
std::optional<Plan> Solver::realize(const Limit& limit, const SearchResult& found, std::optional<Bytes> budget) {
  excess_ = 0, late_ = 0;
  if (!found.outcome.fits()) return std::nullopt;
  const Policy prefetched = prefetch(model_, limit, found.policy, limits(0));
  std::optional<Plan> plan = place_policy(limit, prefetched, budget);
  if (!plan && !(prefetched == found.policy)) plan = place_policy(limit, found.policy, budget);
  return plan;
}

std::optional<Plan> Solver::place_policy(const Limit& limit, const Policy& policy, std::optional<Bytes> budget) {
  Simulator simulator(model_, limit);
  simulator.reset(policy);
  PlanOptions placing = options_;
  if (until_) {  // the clock counts for the offsets too
    placing.effort = 0;
    placing.time_limit = std::max(0.0, std::chrono::duration<double>(*until_ - Clock::now()).count());
  }
  Realized realized = plan::realize(graph_, model_, simulator.events(), placing, budget);
  excess_ = realized.excess;
  late_ = realized.late;
  return std::move(realized.plan);
}

}  // namespace pantoum::plan
