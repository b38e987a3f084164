#include "plan/planner.h"
#include "plan/solver.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "plan/instance.h"
#include "plan/prover.h"
#include "plan/realize/realize.h"
#include "plan/realize/reserve.h"
#include "plan/search/search.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {
namespace {

constexpr int kAnnealings = 4;  // independent searches; whatever the number of threads
constexpr int64_t kRoundsPerEffort = 1000;
constexpr int kMostAttempts = 10;
constexpr double kMostShare = 1 - 1e-12;  // of a limit: the search's sums and the plan's differ by rounding

constexpr double kSame = 1 + 1e-12;  // values so near are the same: sums in another order
constexpr Seconds kTieSeconds =
    0.02;                           // for the best of plans of the same value, at the least, and where there is a proof
constexpr int64_t kTieRounds = 4;   // the part of the rounds that effort gives
constexpr double kMostLost = 1e-4;  // of the value that the search found, by offsets
constexpr int kMostLosses = 2;
constexpr Bytes kWritePart = 50;        // the budget's part that is left to bytes that are being written out
constexpr Bytes kLeastStep = 400;       // the budget's, or the deadline's, part that an attempt gives way at the least
constexpr Seconds kFirstSeconds = 0.7;  // for a first plan, however short the limit
constexpr int kFirstAttempts = 8;       // at placing a first plan

class PlanSearch {
 public:
  // Keeps all three by reference. `best_value`: of the best policy so far, which the search tells and others may read
  // at any time. The search stops at the prover's bound and takes up its policies, while it runs.
  PlanSearch(const Instance& instance, Prover& prover, std::atomic<double>& best_value)
      : instance_(instance),
        model_(instance.model),
        asked_(instance.options.question),
        budget_(asked_.budget_bytes()),
        prover_(prover),
        best_value_(best_value) {}

  // A plan that meets the budget and the limits, or nothing within the time limit. Its bound, method and status are
  // not filled in.
  std::optional<Plan> search() {
    const Run run = whole_question();
    const Starts starts = find_starts(run);
    Found found{.plan = first_plan(run, starts.best), .placed = starts.best};
    if (!found.plan) found.plan = unplanned_step();
    if (found.plan && is_over()) return std::move(found.plan);
    if (model_.paging)
      search_with_transfers(starts, found);
    else
      search_in_ram(starts.best, found);
    settle_ties(found.placed, found.plan);
    if (!found.plan || found.lost)
      for (const SearchResult& start : starts.by_energy) keep_better(found.plan, realize(whole_question(), start).plan);
    return std::move(found.plan);
  }

  // The plan without budget and limits that retains every tensor until its last use.
  std::optional<Plan> keep_everything() {
    const Limit limit{.question = {.objective = instance_.objective()}};
    const Policy keep = keep_all(model_, first_choices(model_, asked_));
    return place_policy(limit, greedy(model_, limit, keep, limits(whole_question())).policy, 1, false).plan;
  }

 private:
  // The limits of one attempt. They are tighter than the question where offsets have cost RAM or time before.
  struct Run {
    Limit limit;
    double time_share = 0;  // of the time limit, by which it ends
    bool sliced = false;    // even where there is no plan yet
    double placing = 1;     // of what placing may take
  };
  struct Starts {
    SearchResult best;
    std::vector<SearchResult> by_energy;  // where time counts: the policies of least energy
  };
  struct Found {
    std::optional<Plan> plan;
    SearchResult placed;    // its policy
    bool annealed = false;  // it is: not the first plan's
    bool lost = false;      // offsets cost time that the search had found
  };
  using Stagnant = std::function<bool(Seconds improved_at)>;

  void search_with_transfers(const Starts& starts, Found& best) {
    Run run = whole_question();
    SearchResult found = starts.best;
    Reserve reserve(model_, budget_);
    int losses = 0;
    for (int number = 0; number < kMostAttempts && !(best.plan && proved(*best.plan)); ++number) {
      run.time_share =
          number == 0 ? first_share() : next_share((best.annealed ? 1 : 2) * share_of(Attempt::kSearchAgain));
      run.sliced = number > 0;
      best_value_ = best.plan ? value_of(*best.plan) : std::numeric_limits<double>::infinity();
      found = improved(run, found);
      if (!found.outcome.fits() && number > 0) {
        if (!run.limit.reserve || no_time_left()) break;
        give_way(run, reserve, found);
        continue;
      }
      Realized realized = realize(run, found);
      const bool fits = realized.plan.has_value(), waits = waits_for_writes(realized, found);
      if (fits) best.placed = found, best.annealed = true;
      keep_better(best.plan, std::exchange(realized.plan, std::nullopt));
      if (best.plan && proved(*best.plan)) break;
      if (waits && ++losses <= kMostLosses) {  // plan again with more RAM for what is being written out
        best.lost = true;
        if (no_time_left()) break;
        const Bytes whole = budget_, last = run.limit.question.budget_bytes();
        run.limit.question.budget = last - whole / kWritePart;
        run.time_share = next_share(share_of(Attempt::kSearchAgain));
        found = greedy(model_, run.limit, found.policy, limits(run));
        continue;
      }
      if (found.outcome.excess > 0 || !found.outcome.sound) break;
      const bool cut_off = out_of_time(run);
      const bool again =
          fits ? (!waits && reserve.shrink()) || cut_off : reserve.grow(realized) || end_earlier(run.limit, realized);
      run.limit.reserve = reserve.by_stage();
      if (!again || no_time_left()) break;
      if (fits && !waits) found = best.placed;
      found.outcome = Simulator(model_, run.limit).reset(found.policy);
      if (!best.annealed) found = greedy(model_, run.limit, found.policy, limits(run));
    }
  }

  // Searches where nothing moves to storage, so that offsets cost RAM alone. Each attempt keeps as many bytes in
  // reserve as the offsets lacked the last time, and anneals from the last policy.
  void search_in_ram(SearchResult found, Found& best) {
    Run run = whole_question();
    Reserve reserve(model_, budget_);
    const auto finished = [&] { return instance_.stopped() || (best.plan && proved(*best.plan)); };
    for (int number = 0; number < kMostAttempts && !finished(); ++number) {
      run.limit.reserve = reserve.by_stage();
      run.sliced = number > 0;
      run.time_share = number == 0 ? share_of(Attempt::kSearchInRam) : next_share(share_of(Attempt::kSearchInRamAgain));
      if (number > 0 && instance_.by_clock() && run.time_share > share_of(Attempt::kSearchesInRam)) break;
      best_value_ = best.plan ? value_of(*best.plan) : std::numeric_limits<double>::infinity();
      found.outcome = Simulator(model_, run.limit).reset(found.policy);
      found = improved(run, found);
      if (!found.outcome.sound) break;
      if (!found.outcome.fits()) {
        reserve.give_way(found.policy);
        continue;
      }
      const double share = share_of(Attempt::kPlacingAgain),
                   placing = best.plan ? std::min(share, placing_left()) : share;
      Realized realized = place_policy(run.limit, found.policy, placing);
      const bool fits = realized.plan.has_value();
      if (fits && (!best.plan || value_of(*realized.plan) < value_of(*best.plan))) {
        best.plan = std::move(realized.plan);
        best.placed = found;
        best.annealed = true;
      }
      const bool cut_off = fits && !run.limit.reserve && out_of_time(run);
      if (!cut_off && !(fits ? reserve.shrink() : reserve.grow(realized))) break;
    }
    if (!finished() && best.annealed && model_.uses(Switch::kPlacedAnnealing)) use_all_room(best);
  }

  // Uses the time that is left to anneal among plans whose offsets are near those of the best plan.
  void use_all_room(Found& best) {
    instance_.doing.search = "annealing with offsets";
    Run run = whole_question();
    run.time_share = 1 - share_of(Attempt::kPlacing);
    SearchLimits limits = this->limits(run);
    if (!instance_.by_clock()) limits.rounds = instance_.options.effort * kRoundsPerEffort;
    std::optional<PlacedResult> found =
        improve_placed(instance_.graph, model_, run.limit, instance_.options, best.placed.policy, *best.plan, limits);
    if (!found) return;
    best.plan = std::move(found->plan);
    best.placed.policy = std::move(found->policy);
    best.placed.outcome = Simulator(model_, run.limit).reset(best.placed.policy);
  }

  // The first policy that fits, placed at once, whatever it costs: in less RAM, where its offsets take too much. By the clock
  // this goes on while there is time: what a policy costs is no matter as long as there is no plan.
  std::optional<Plan> first_plan(Run run, SearchResult found) {
    const auto is_there_time = [&] { return instance_.by_clock() && model_.paging && !no_time_left(); };
    Reserve reserve(model_, budget_);
    for (int number = 0; found.outcome.fits() && (number < kFirstAttempts || is_there_time()); ++number) {
      const bool again = number > 0 && is_there_time();
      const double placing = share_of(again ? Attempt::kPlacingAgain : Attempt::kPlacingFirst);
      Realized realized = place_policy(run.limit, found.policy, placing);
      if (realized.plan) {
        best_value_ = value_of(*realized.plan);
        return std::move(realized.plan);
      }
      if (!reserve.grow(realized) && !end_earlier(run.limit, realized)) break;
      run.limit.reserve = reserve.by_stage();
      found = greedy(model_, run.limit, found.policy, limits(run));
      while (run.limit.reserve && !found.outcome.fits() && is_there_time()) {
        found = anneal_in_parallel(model_, run.limit, found, first_annealing(run));
        if (!found.outcome.fits()) give_way(run, reserve, found);
      }
    }
    return std::nullopt;
  }

  // Returns limits of an annealing that ends with the first policy that fits, whatever it costs.
  ParallelLimits first_annealing(const Run& run) const {
    ParallelLimits annealing = annealing_limits(run);
    annealing.search.target = std::numeric_limits<double>::infinity();
    annealing.search.stop = [this, until = instance_.elapsed() + instance_.time.for_attempt(Attempt::kSearchAgain)] {
      instance_.turns.pass();
      return instance_.elapsed() > until || no_time_left();
    };
    return annealing;
  }

  // A policy that has too many bytes with what is kept in reserve, with less of it.
  void give_way(Run& run, Reserve& reserve, SearchResult& found) const {
    reserve.give_way(found.policy);
    run.limit.reserve = reserve.by_stage();
    found.outcome = Simulator(model_, run.limit).reset(found.policy);
  }

  // Returns the unplanned step if its offsets are within the budget, even though its live bytes, rounded up to the
  // alignment, may exceed the budget. The answer is the same on every machine.
  std::optional<Plan> unplanned_step() const {
    Simulator simulator(model_, {.question = {.objective = instance_.objective()}});
    simulator.reset(keep_all(model_, first_choices(model_, asked_)));
    Bytes peak = 0;
    for (Stage stage = 0; stage <= model_.end(); ++stage) peak = std::max(peak, simulator.peak(stage));
    if (peak - model_.align >= budget_) return std::nullopt;
    PlanOptions placing = instance_.options;
    placing.effort = 1;
    Realized realized = plan::realize(instance_.graph, model_, simulator.events(), placing, std::nullopt);
    const bool fits = realized.plan && realized.plan->predicted.arena_bytes <= budget_;
    return fits ? std::move(realized.plan) : std::nullopt;
  }

  // Is it proved that no plan is better by more than the gap?
  bool proved(const Plan& plan) const { return value_of(plan) <= target(); }

  // Is it proved, by the clock, that no policy is better than the best so far? The bound rises meanwhile.
  bool settled() const { return instance_.by_clock() && best_value_.load() <= target(); }

  // Returns how many threads the proof leaves to the search.
  int search_threads() const { return std::max(1, instance_.thread_count() - (prover_.running() ? 1 : 0)); }

  Run whole_question() const {
    Run run{.limit = {.question = asked_}, .time_share = first_share()};
    if (run.limit.question.energy_limit) *run.limit.question.energy_limit *= kMostShare;
    if (run.limit.question.deadline) *run.limit.question.deadline *= kMostShare;
    return run;
  }

  double first_share() const {
    const bool offsets_cost_time = model_.async && (instance_.objective() != Objective::kEnergy || model_.idle_w > 0);
    return share_of(offsets_cost_time ? Attempt::kSearchWithTransfers : Attempt::kSearchByEnergy);
  }

  // Returns the share of the time limit that ends `more` from now.
  double next_share(double more) const {
    return std::min(1 - share_of(Attempt::kPlacing), instance_.elapsed() / instance_.options.time_limit + more);
  }

  // A large step's first plan may take longer than the limit.
  bool is_over() const {
    return instance_.stopped() || (instance_.by_clock() && instance_.elapsed() > instance_.options.time_limit);
  }

  // Is there no time for another attempt?
  bool no_time_left() const {
    const Seconds placing = instance_.time.for_attempt(Attempt::kPlacing);
    return instance_.stopped() || (instance_.by_clock() && instance_.time.left() < placing + kReserve);
  }

  bool out_of_time(const Run& run) const {
    instance_.turns.pass();
    if (instance_.stopped()) return true;
    if (!instance_.by_clock()) return false;
    const Seconds limit = instance_.options.time_limit;
    if (run.sliced || std::isfinite(best_value_.load())) return instance_.elapsed() > limit * run.time_share - kReserve;
    return instance_.elapsed() > std::max(instance_.time.for_attempt(Attempt::kUntilAnyPlan) - kReserve, kFirstSeconds);
  }

  // Returns the part of a placement's time for which there is time left.
  double placing_left() const {
    if (!instance_.by_clock()) return 1;
    return std::clamp((instance_.time.left() - kReserve) / instance_.time.for_attempt(Attempt::kPlacing), 0.0, 1.0);
  }

  // Has nothing better been found for twice as long as it took to come here, and a share of the limit?
  bool stagnant(Seconds improved_at) const {
    return instance_.elapsed() > 3 * improved_at + 0.2 * std::min<Seconds>(instance_.options.time_limit, 60);
  }

  double target() const {
    const bool energy = instance_.objective() == Objective::kEnergy;
    const double proved = std::max(prover_.bound(), energy ? instance_.stage_priced_energy : 0);
    return proved / std::max(1e-9, 1 - instance_.options.gap);
  }

  SearchLimits limits(const Run& run) const {
    return {.rounds = 0, .stop = [this, &run] { return out_of_time(run) || settled(); }, .target = target()};
  }

  Starts find_starts(const Run& run) {
    std::optional<SearchResult> given = start_given(run);
    const Policy keep = keep_all(model_, first_choices(model_, run.limit.question));
    const bool hurried = instance_.by_clock() && instance_.options.time_limit < kFirstSeconds;
    const bool alone = instance_.options.goes_on || (hurried && !Simulator(model_, run.limit).reset(keep).fits());
    if (alone && given && given->outcome.fits()) return {.best = std::move(*given), .by_energy = {}};
    instance_.doing.search = "evicting until it fits";
    // However short the limit: a plan that is known to exist is found.
    const SearchLimits whole{.stop = [this] { return instance_.stopped(); }, .target = target()};
    SearchResult found = greedy(model_, run.limit, keep, whole);
    if (!(found.policy == keep) || !found.outcome.fits()) found = with_lean_reads(run, keep, std::move(found));
    Starts starts{.best = with_lean_choices(run, std::move(found)), .by_energy = {}};
    const auto consider = [&](const SearchResult& start) {
      if (better(start.outcome, starts.best.outcome)) starts.best = start;
    };
    if (given) consider(*given);
    const bool clocked = Simulator(model_, run.limit).clocked();
    if (instance_.objective() == Objective::kEnergy && clocked && model_.idle_w > 0) {
      const Choices own = least_joules(model_);  // idle watts count anyhow where a step waits for its storage
      if (own != keep.choices) consider(greedy(model_, run.limit, keep_all(model_, own), limits(run)));
    }
    if (instance_.objective() == Objective::kEnergy || !clocked) return starts;
    starts.by_energy.push_back(least_energy(run));
    const Policy prefetched = prefetch(model_, run.limit, starts.by_energy.front().policy, limits(run));
    starts.by_energy.push_back({prefetched, Simulator(model_, run.limit).reset(prefetched)});
    consider(starts.by_energy.back());
    return starts;
  }

  // The plan that was given to begin with, as far as a policy can say what it does.
  std::optional<SearchResult> start_given(const Run& run) const {
    const Plan* given = instance_.options.warm_start;
    if (given == nullptr || !model_.uses(Switch::kWarmStart)) return std::nullopt;
    std::optional<Policy> policy = policy_of(*given, model_);
    if (!policy) return std::nullopt;
    const Outcome outcome = Simulator(model_, run.limit).reset(*policy);
    if (!outcome.sound) return std::nullopt;
    if (outcome.fits()) return SearchResult{std::move(*policy), outcome};
    return greedy(model_, run.limit, std::move(*policy), limits(run));
  }

  // Starts from the choices that read the fewest bytes, because fewer bytes then have to be evicted.
  SearchResult with_lean_reads(const Run& run, const Policy& keep, SearchResult found) const {
    if (!model_.uses(Switch::kLeanReads)) return found;
    Choices lean = lean_reads(model_, keep.choices);
    if (lean == keep.choices) return found;
    SearchResult from = greedy(model_, run.limit, keep_all(model_, std::move(lean)), limits(run));
    return better(from.outcome, found.outcome) ? from : found;
  }

  // If even evicting everything does not fit, takes leaner kernels for the ops that are too large.
  SearchResult with_lean_choices(const Run& run, SearchResult found) const {
    if (found.outcome.fits() || !model_.uses(Switch::kLeanChoices)) return found;
    const SearchResult lean = with_leaner_kernels(model_, run.limit, found.policy);
    if (lean.outcome.excess >= found.outcome.excess) return found;
    return greedy(model_, run.limit, lean.policy, limits(run));
  }

  // Searches for least energy alone, and moves the page-ins ahead. That is quick, as no clock is simulated, and often
  // a better start where time counts.
  SearchResult least_energy(const Run& run) {
    Run by_energy = run;
    by_energy.limit.question.objective = Objective::kEnergy;
    by_energy.limit.question.deadline.reset();
    const Policy keep = keep_all(model_, first_choices(model_, Objective::kEnergy));
    const SearchResult from = with_lean_choices(by_energy, greedy(model_, by_energy.limit, keep, limits(by_energy)));
    const Seconds most = instance_.time.for_attempt(Attempt::kStartByEnergy);
    SearchResult found = anneal_aside(by_energy, from, [&](Seconds improved_at) {
      return instance_.elapsed() > std::min(2 * improved_at + most / 10, most);
    });
    found.outcome = Simulator(model_, run.limit).reset(found.policy);
    return found;
  }

  SearchResult improved(const Run& run, const SearchResult& start) {
    SearchResult found = anneal_to_bound(run, start);
    if (!found.outcome.fits()) return found;
    best_value_ = std::min(best_value_.load(), found.outcome.value);
    return found;
  }

  SearchResult anneal_to_bound(const Run& run, const SearchResult& start) {
    Seconds improved_at = instance_.elapsed();
    instance_.doing.search =
        run.limit.question.budget_bytes() < budget_ ? "annealing, with room for what offsets cost" : "annealing";
    ParallelLimits annealing = annealing_limits(run);
    annealing.improved = [&, this](const Outcome& best) {
      improved_at = instance_.elapsed();
      best_value_ = std::min(best_value_.load(), best.value);
    };
    if (instance_.by_clock()) {
      annealing.annealings = std::clamp(instance_.thread_count(), 2, kAnnealings);
      annealing.stagnant = [&, this] { return stagnant(improved_at); };
      if (model_.uses(Switch::kLpRounding)) annealing.hint = [this] { return prover_.take_near_policy(); };
    }
    return anneal_in_parallel(model_, run.limit, start, annealing);
  }

  // A search for something else than the objective, which no bound ends; `stagnant` is asked with the time at which it
  // last got better.
  SearchResult anneal_aside(const Run& run, const SearchResult& start, const Stagnant& stagnant) {
    Seconds improved_at = instance_.elapsed();
    ParallelLimits annealing = annealing_limits(run);
    annealing.search.target = 0;
    if (instance_.by_clock()) {
      annealing.stagnant = [&] { return stagnant(improved_at); };
      annealing.improved = [&, this](const Outcome&) { improved_at = instance_.elapsed(); };
    }
    return anneal_in_parallel(model_, run.limit, start, annealing);
  }

  // Takes the fastest of plans of the same energy, or the plan of least energy among those of the same makespan, if
  // the search finds it in a small part of the time taken so far.
  void settle_ties(const SearchResult& placed, std::optional<Plan>& best) {
    if (!best || instance_.objective() == Objective::kEdp || !placed.outcome.fits() || is_over()) return;
    instance_.doing.search = "settling ties";
    Run own = whole_question();
    const bool energy = instance_.objective() == Objective::kEnergy;
    const double most = value_of(*best) * kSame;
    own.limit.question.objective = energy ? Objective::kTime : Objective::kEnergy;
    (energy ? own.limit.question.energy_limit : own.limit.question.deadline) = most;
    const SearchResult start{placed.policy, Simulator(model_, own.limit).reset(placed.policy)};
    if (!start.outcome.fits()) return;
    const Seconds now = instance_.elapsed(), left = instance_.time.limit() - kReserve - now;
    const Seconds longer = std::max(kTieSeconds, share_of(Attempt::kSettleTies) * now);
    const Seconds until = now + std::min(left, proved(*best) ? kTieSeconds : longer);
    ParallelLimits annealing = annealing_limits(own);
    annealing.search.target = 0;
    annealing.search.stop = [this, until] {
      return instance_.stopped() || (instance_.by_clock() && instance_.elapsed() > until);
    };
    if (!instance_.by_clock()) annealing.rounds = std::max<int64_t>(1, annealing.rounds / kTieRounds);
    const SearchResult found = anneal_in_parallel(model_, own.limit, start, annealing);
    const auto other = [energy](const Plan& plan) { return energy ? plan.predicted.time_s : plan.predicted.energy_j; };
    own.placing = placing_left();
    std::optional<Plan> plan = realize(own, found).plan;
    if (plan && value_of(*plan) <= most && other(*plan) < other(*best)) best = std::move(plan);
  }

  ParallelLimits annealing_limits(const Run& run) const {
    ParallelLimits annealing{
        .annealings = kAnnealings, .threads = [this] { return search_threads(); }, .search = limits(run)};
    if (instance_.by_clock())
      annealing.round = std::chrono::duration<double>(instance_.time.for_attempt(Attempt::kAnnealingRound));
    else
      annealing.rounds = instance_.options.effort * kRoundsPerEffort;
    return annealing;
  }

  // Places the policy with its page-ins moved ahead, or as it is if the former does not fit.
  Realized realize(const Run& run, const SearchResult& found) const {
    if (!found.outcome.fits()) return {};
    instance_.doing.search = "placing";
    const Policy prefetched = prefetch(model_, run.limit, found.policy, limits(run));
    Realized realized = place_policy(run.limit, prefetched, run.placing);
    if (realized.plan || prefetched == found.policy) return realized;
    return place_policy(run.limit, found.policy, run.placing);
  }

  // `share`: of what placing may take. `within_budget`: of the question; else in as few bytes as can be found soon.
  Realized place_policy(const Limit& limit, const Policy& policy, double share, bool within_budget = true) const {
    Simulator simulator(model_, limit);
    simulator.reset(policy);
    PlanOptions placing = instance_.options;
    if (instance_.until) {  // the clock counts for the offsets too
      placing.effort = 0;
      const std::chrono::duration<double> left = *instance_.until - Instance::Clock::now();
      placing.time_limit = std::max(0.0, left.count());
    }
    const std::optional<Bytes> budget = within_budget ? asked_.budget : std::nullopt;
    return plan::realize(instance_.graph, model_, simulator.events(), placing, budget, share);
  }

  // Did the offsets cost what the search had found, as bytes are taken before their write completion?
  bool waits_for_writes(const Realized& realized, const SearchResult& found) const {
    return realized.plan && value_of(*realized.plan) > found.outcome.value * (1 + kMostLost) &&
           model_.uses(Switch::kRoomier);
  }

  // An earlier end, where the offsets cost time. False: that is not the reason, or nothing would be left.
  bool end_earlier(Limit& limit, const Realized& missed) const {
    Question& question = limit.question;
    if (missed.time_excess <= 0 || !question.deadline || !model_.uses(Switch::kEarlier)) return false;
    *question.deadline -= std::max(missed.time_excess, *question.deadline / kLeastStep);
    return *question.deadline > 0;
  }

  const Instance& instance_;
  const Model& model_;
  const Question& asked_;
  const Bytes budget_;
  Prover& prover_;
  std::atomic<double>& best_value_;
};

}  // namespace

std::optional<Plan> search_plan(const Instance& instance, Prover& prover, std::atomic<double>& best_value) {
  return PlanSearch(instance, prover, best_value).search();
}

std::optional<Plan> keep_everything(const Instance& instance, Prover& prover) {
  std::atomic<double> untold;
  return PlanSearch(instance, prover, untold).keep_everything();
}

}  // namespace pantoum::plan
