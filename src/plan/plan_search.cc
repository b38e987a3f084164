#include "plan/plan_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "plan/instance.h"
#include "plan/prover.h"
#include "plan/realize/realize.h"
#include "plan/search/parallel_annealing.h"
#include "plan/simulate/simulate.h"
#include "plan/simulate/switches.h"
#include "problem/objective_values.h"

namespace pantoum::plan {
namespace {

constexpr int kAnnealings = 4;  // independent searches; whatever the number of threads
constexpr int64_t kRoundsPerEffort = 1000;
constexpr int kMostAttempts = 8;
constexpr double kMostShare = 1 - 1e-12;  // of a limit: the search's sums and the plan's differ by rounding

constexpr double kStartShare = 0.2;     // of the time limit, for the search for a start where time counts
constexpr double kTransferShare = 0.1;  // of the time taken so far, for fewer transfers among the fastest plans
constexpr double kHopeShare = 0.75;     // of the time limit, for a search that finds nothing
constexpr double kFirstShare = 0.6;     // of the time limit, for the first search, where offsets can cost time
constexpr double kRoundShare = 0.1;     // of the time limit, for a round of the annealings
constexpr double kMostLost = 1e-4;      // of the value that the search found, by offsets
constexpr int kMostLosses = 2;
constexpr Bytes kWritePart = 50;   // the budget's part that is left to bytes that are being written out
constexpr Bytes kLeastStep = 400;  // the budget's, or the deadline's, part that an attempt gives way at the least

void keep_better(std::optional<Plan>& best, std::optional<Plan> plan) {
  if (plan && (!best || value_of(*plan) < value_of(*best))) best = std::move(plan);
}

void give_way(Question& question, Bytes bytes) {
  question.budget = question.budget_bytes() - bytes;
}

}  // namespace

std::optional<Plan> PlanSearch::run() {
  const std::optional<Bytes> budget = instance_.options.question.budget;
  Attempt attempt = whole_question();
  const Starts starts = find_starts(attempt);
  SearchResult found = starts.best;
  std::optional<Plan> best;
  int losses = 0;
  for (int number = 0; number < kMostAttempts; ++number) {
    attempt.time_share = time_share(number);
    found = improved(attempt, found);
    if (!found.outcome.fits() && number > 0) break;
    Realized realized = realize(attempt, found, budget);
    const bool waits = waits_for_writes(realized, found);
    keep_better(best, std::exchange(realized.plan, std::nullopt));
    if (waits && ++losses <= kMostLosses) {  // plan again with more RAM for what is being written out
      if (out_of_time(attempt)) break;
      give_way(attempt.limit.question, instance_.options.question.budget_bytes() / kWritePart);
      found = greedy(instance_.model, attempt.limit, starts.best.policy, limits(attempt));
      continue;
    }
    if (best || found.outcome.excess > 0 || !found.outcome.sound || (out_of_time(attempt) && number > 1)) break;
    if (!tighten(attempt.limit, realized)) break;
    found = greedy(instance_.model, attempt.limit, found.policy, limits(attempt));
  }
  if (!best || losses > 0)
    for (const SearchResult& start : starts.by_energy) keep_better(best, realize(attempt, start, budget).plan);
  return best;
}

std::optional<Plan> PlanSearch::keep_everything() {
  const Attempt attempt{.limit = {.question = {.objective = instance_.objective()}}, .time_share = time_share(1)};
  const Policy keep = keep_all(instance_.model, first_choices(instance_.model, instance_.objective()));
  return realize(attempt, greedy(instance_.model, attempt.limit, keep, limits(attempt)), {}).plan;
}

PlanSearch::Attempt PlanSearch::whole_question() const {
  Attempt attempt{.limit = {.question = instance_.options.question}, .time_share = time_share(1)};
  if (attempt.limit.question.energy_limit) *attempt.limit.question.energy_limit *= kMostShare;
  if (attempt.limit.question.deadline) *attempt.limit.question.deadline *= kMostShare;
  return attempt;
}

double PlanSearch::time_share(int attempt) const {
  const Model& model = instance_.model;
  const bool offsets_cost_time = model.async && (instance_.objective() != Objective::kEnergy || model.idle_w > 0);
  return attempt == 0 && offsets_cost_time ? kFirstShare : 1 - kPlacementShare;
}

bool PlanSearch::out_of_time(const Attempt& attempt) const {
  if (instance_.stopped()) return true;
  if (!instance_.by_clock()) return false;
  const double share = std::isfinite(best_value_.load()) ? attempt.time_share : kHopeShare;
  return instance_.elapsed() > instance_.options.time_limit * share - kReserve;
}

// Nothing better for twice as long as it took to come here, and a share of the limit.
bool PlanSearch::stagnant(Seconds improved_at) const {
  return instance_.elapsed() > 3 * improved_at + 0.2 * std::min<Seconds>(instance_.options.time_limit, 60);
}

double PlanSearch::target() const {
  const bool energy = instance_.objective() == Objective::kEnergy;
  const double proved = std::max(prover_.bound(), energy ? instance_.stage_priced_energy : 0);
  return proved / std::max(1e-9, 1 - instance_.options.gap);
}

SearchLimits PlanSearch::limits(const Attempt& attempt) const {
  return {.rounds = 0, .stop = [this, &attempt] { return out_of_time(attempt); }, .target = target()};
}

// ---- starts --------------------------------------------------------------------------------------------

PlanSearch::Starts PlanSearch::find_starts(const Attempt& attempt) {
  const Model& model = instance_.model;
  const Policy keep = keep_all(model, first_choices(model, instance_.objective()));
  SearchResult found = greedy(model, attempt.limit, keep, limits(attempt));
  if (!(found.policy == keep) || !found.outcome.fits()) found = with_lean_reads(attempt, keep, std::move(found));
  Starts starts{.best = with_lean_choices(attempt, std::move(found)), .by_energy = {}};
  if (instance_.objective() == Objective::kEnergy) return starts;
  starts.by_energy.push_back(least_energy(attempt));
  const Policy prefetched = prefetch(model, attempt.limit, starts.by_energy.front().policy, limits(attempt));
  starts.by_energy.push_back({prefetched, Simulator(model, attempt.limit).reset(prefetched)});
  if (better(starts.by_energy.back().outcome, starts.best.outcome)) starts.best = starts.by_energy.back();
  return starts;
}

// Where something has to be evicted: from the choices that read the fewest bytes, less has to be.
SearchResult PlanSearch::with_lean_reads(const Attempt& attempt, const Policy& keep, SearchResult found) const {
  const Model& model = instance_.model;
  if (!model.uses(Switch::kLeanReads)) return found;
  Choices lean = lean_reads(model, keep.choices);
  if (lean == keep.choices) return found;
  SearchResult from = greedy(model, attempt.limit, keep_all(model, std::move(lean)), limits(attempt));
  return better(from.outcome, found.outcome) ? from : found;
}

// Where even evicting everything does not fit: leaner kernels for the ops that are too large.
SearchResult PlanSearch::with_lean_choices(const Attempt& attempt, SearchResult found) const {
  const Model& model = instance_.model;
  if (found.outcome.fits() || !model.uses(Switch::kLeanChoices)) return found;
  Simulator simulator(model, attempt.limit);
  simulator.reset(found.policy);
  for (const OpIndex op : model.ops.indices()) {
    if (simulator.peak(model.ops[op].stage) <= attempt.limit.question.budget_bytes()) continue;
    for (int32_t choice = 0; choice < static_cast<int32_t>(model.ops[op].choices.size()); ++choice) {
      if (choice == simulator.policy().choices[op]) continue;
      const Outcome before = simulator.outcome(), after = simulator.propose_choice(op, choice);
      if (after.sound && after.excess < before.excess)
        simulator.accept();
      else
        simulator.reject();
    }
  }
  if (simulator.outcome().excess >= found.outcome.excess) return found;
  return greedy(model, attempt.limit, simulator.policy(), limits(attempt));
}

// Where time counts, a plan that is sought for its energy alone (which is quick: no clock is simulated), with its
// page-ins moved ahead, is often the better start.
SearchResult PlanSearch::least_energy(const Attempt& attempt) {
  const Model& model = instance_.model;
  Attempt by_energy = attempt;
  by_energy.limit.question.objective = Objective::kEnergy;
  by_energy.limit.question.deadline.reset();
  const Policy keep = keep_all(model, first_choices(model, Objective::kEnergy));
  const SearchResult from = with_lean_choices(by_energy, greedy(model, by_energy.limit, keep, limits(by_energy)));
  const Seconds most = kStartShare * instance_.options.time_limit;
  SearchResult found = anneal_aside(by_energy, from, [&](Seconds improved_at) {
    return instance_.elapsed() > std::min(2 * improved_at + most / 10, most);
  });
  found.outcome = Simulator(model, attempt.limit).reset(found.policy);
  return found;
}

// ---- annealing -----------------------------------------------------------------------------------------

SearchResult PlanSearch::improved(const Attempt& attempt, const SearchResult& start) {
  SearchResult found = anneal_to_bound(attempt, start);
  if (!found.outcome.fits()) return found;
  best_value_ = std::min(best_value_.load(), found.outcome.value);
  return instance_.objective() == Objective::kTime ? with_fewest_transfers(attempt, found) : found;
}

ParallelLimits PlanSearch::annealing_limits(const Attempt& attempt) const {
  ParallelLimits annealing{.annealings = kAnnealings, .threads = instance_.thread_count(), .search = limits(attempt)};
  if (instance_.by_clock())
    annealing.round = std::chrono::duration<double>(instance_.options.time_limit * kRoundShare);
  else
    annealing.rounds = instance_.options.effort * kRoundsPerEffort;
  return annealing;
}

SearchResult PlanSearch::anneal_to_bound(const Attempt& attempt, const SearchResult& start) {
  Seconds improved_at = instance_.elapsed();
  ParallelLimits annealing = annealing_limits(attempt);
  annealing.improved = [&, this](const Outcome& best) {
    improved_at = instance_.elapsed();
    report(best.value);
  };
  if (instance_.by_clock()) {
    annealing.annealings = std::clamp(annealing.threads, 2, kAnnealings);
    annealing.stagnant = [&, this] { return stagnant(improved_at); };
    annealing.search.stop = [&, this] {  // the bound rises meanwhile
      return out_of_time(attempt) || best_value_.load() <= target();
    };
    if (instance_.model.uses(Switch::kLpRounding)) annealing.hint = [this] { return prover_.take_near_policy(); };
  }
  return anneal_in_parallel(instance_.model, attempt.limit, start, annealing);
}

// A search for something else than the objective, which no bound ends; `stagnant` is asked with the time at which it
// last got better.
SearchResult PlanSearch::anneal_aside(const Attempt& attempt, const SearchResult& start, const Stagnant& stagnant) {
  Seconds improved_at = instance_.elapsed();
  ParallelLimits annealing = annealing_limits(attempt);
  annealing.search.target = 0;
  if (instance_.by_clock()) {
    annealing.stagnant = [&] { return stagnant(improved_at); };
    annealing.improved = [&, this](const Outcome&) { improved_at = instance_.elapsed(); };
  }
  return anneal_in_parallel(instance_.model, attempt.limit, start, annealing);
}

// Among the plans that are as fast, one that moves fewer bytes.
SearchResult PlanSearch::with_fewest_transfers(const Attempt& attempt, const SearchResult& fast) {
  const Model& model = instance_.model;
  Attempt own = attempt;
  own.limit.question.deadline = fast.outcome.time * (1 + 1e-12);
  own.limit.fewest = true;
  const SearchResult start{fast.policy, Simulator(model, own.limit).reset(fast.policy)};
  if (!start.outcome.fits() || start.outcome.value <= 0) return fast;
  const SearchResult fewest = anneal_aside(own, start, [this](Seconds improved_at) {
    return instance_.elapsed() >
           (1 + kTransferShare) * improved_at + kTransferShare / 10 * instance_.options.time_limit;
  });
  SearchResult found{fewest.policy, Simulator(model, attempt.limit).reset(fewest.policy), fast.price};
  return found.outcome.fits() && found.outcome.value <= fast.outcome.value ? found : fast;
}

void PlanSearch::report(double best) {
  best_value_ = best;
  if (!instance_.options.progress) return;
  const std::lock_guard lock(progress_mutex_);
  instance_.options.progress({.elapsed = instance_.elapsed(), .best = best, .bound = prover_.bound()});
}

// ---- offsets -------------------------------------------------------------------------------------------

// With the page-ins moved ahead, or without that where it does not fit.
Realized PlanSearch::realize(const Attempt& attempt, const SearchResult& found, std::optional<Bytes> budget) const {
  if (!found.outcome.fits()) return {};
  const Policy prefetched = prefetch(instance_.model, attempt.limit, found.policy, limits(attempt));
  Realized realized = place_policy(attempt.limit, prefetched, budget);
  if (realized.plan || prefetched == found.policy) return realized;
  return place_policy(attempt.limit, found.policy, budget);
}

Realized PlanSearch::place_policy(const Limit& limit, const Policy& policy, std::optional<Bytes> budget) const {
  Simulator simulator(instance_.model, limit);
  simulator.reset(policy);
  PlanOptions placing = instance_.options;
  if (instance_.until) {  // the clock counts for the offsets too
    placing.effort = 0;
    const std::chrono::duration<double> left = *instance_.until - Instance::Clock::now();
    placing.time_limit = std::max(0.0, left.count());
  }
  return plan::realize(instance_.graph, instance_.model, simulator.events(), placing, budget);
}

// Did the offsets cost what the search had found, as bytes are taken before their write completion?
bool PlanSearch::waits_for_writes(const Realized& realized, const SearchResult& found) const {
  return realized.plan && value_of(*realized.plan) > found.outcome.value * (1 + kMostLost) &&
         instance_.model.uses(Switch::kRoomier);
}

// Less RAM where the offsets did not fit, and an earlier end where they cost time. False: neither is the reason, or
// nothing would be left.
bool PlanSearch::tighten(Limit& limit, const Realized& missed) const {
  Question& question = limit.question;
  const bool earlier = missed.time_excess > 0 && question.deadline && instance_.model.uses(Switch::kEarlier);
  if (missed.byte_excess <= 0 && !earlier) return false;
  if (missed.byte_excess > 0)
    give_way(question, std::max(missed.byte_excess, instance_.options.question.budget_bytes() / kLeastStep));
  if (earlier) *question.deadline -= std::max(missed.time_excess, *question.deadline / kLeastStep);
  return question.budget_bytes() > 0 && !(earlier && *question.deadline <= 0);
}

}  // namespace pantoum::plan
