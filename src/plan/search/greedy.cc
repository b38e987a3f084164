#include <algorithm>
#include <queue>
#include <tuple>

#include "plan/search/neighbours.h"
#include "plan/search/search.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {
namespace {

// An interval that may be evicted at once, and what that cost per byte saved when it was last looked at.
enum class How : uint8_t { kPage, kDrop, kDropAndKeepInputs };

struct Candidate {
  double score = 0;
  IntervalIndex interval;
  How how = How::kPage;
  // The least score first; of equals the first interval, paged.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tuple(a.score, a.interval, a.how) > std::tuple(b.score, b.interval, b.how);
  }
};

class Evictor {
 public:
  Evictor(const Model& model, const Limit& limit, Policy start, const SearchLimits& limits)
      : model_(model), limits_(limits), simulator_(model, limit) {
    simulator_.reset(std::move(start));
  }

  SearchResult run() {
    if (!simulator_.outcome().sound) return {simulator_.policy(), simulator_.outcome()};
    while (pressed() && !stopped()) {
      look_at_all();
      if (!evict()) break;
    }
    return {simulator_.policy(), simulator_.outcome()};
  }

 private:
  bool pressed() const { return simulator_.outcome().excess > 0; }
  bool stopped() const { return limits_.stop && limits_.stop(); }

  void look_at_all() {
    found_ = {};
    for (const IntervalIndex interval : model_.intervals.indices()) {
      if (stopped()) return;
      for (const How how : {How::kPage, How::kDrop, How::kDropAndKeepInputs}) look_at(interval, how);
    }
  }

  // Nothing: the interval is not evicted like that, or is so already.
  std::vector<Simulator::Change> eviction(IntervalIndex interval, How how) const {
    const Interval& span = model_.intervals[interval];
    if (span.to == model_.never() || span.to - span.from <= 1) return {};
    if (how == How::kPage ? !may_page(model_, interval) : !may_drop(model_, interval)) return {};
    if (how == How::kDropAndKeepInputs) {
      std::vector<Simulator::Change> all =
          dropped_with_inputs(model_, simulator_.policy(), interval, [](TensorIndex) { return true; });
      return all.size() > 1 ? all : std::vector<Simulator::Change>{};
    }
    const IntervalPolicy to = evicted(span, how == How::kPage);
    if (to == simulator_.policy().intervals[interval]) return {};
    return {{interval, to}};
  }

  void look_at(IntervalIndex interval, How how) {
    const std::vector<Simulator::Change> changes = eviction(interval, how);
    if (changes.empty()) return;
    const Outcome before = simulator_.outcome(), after = simulator_.propose(changes);
    simulator_.reject();
    if (!after.sound || after.excess >= before.excess) return;
    const double paid = std::max(0.0, after.value - before.value) + 1e-12 * before.value;
    found_.push({paid / (before.excess - after.excess), interval, how});
  }

  // An eviction changes what the others bring, mostly for the worse: only the first is looked at again.
  bool evict() {
    bool any = false;
    while (pressed() && !found_.empty() && !stopped()) {
      const Candidate first = found_.top();
      found_.pop();
      look_at(first.interval, first.how);
      if (found_.empty()) break;
      const Candidate& best = found_.top();
      if (best.interval != first.interval || best.how != first.how) continue;
      found_.pop();
      simulator_.propose(eviction(first.interval, first.how));
      simulator_.accept();
      any = true;
    }
    return any;
  }

  const Model& model_;
  const SearchLimits& limits_;
  Simulator simulator_;
  std::priority_queue<Candidate> found_;
};

SearchResult evict_until_it_fits(const Model& model, const Limit& limit, Policy start, const SearchLimits& limits) {
  return Evictor(model, limit, std::move(start), limits).run();
}

}  // namespace

SearchResult greedy(const Model& model, const Limit& limit, Policy start, const SearchLimits& limits) {
  if (!limit.question.deadline && !limit.question.energy_limit)
    return evict_until_it_fits(model, limit, std::move(start), limits);
  Simulator simulator(model, limit);
  SearchResult found{start, simulator.reset(start)};
  const auto consider = [&](const Model& how, const Limit& own) {
    const Policy smaller = evict_until_it_fits(how, own, start, limits).policy;
    const Outcome& outcome = simulator.reset(prefetch(model, limit, smaller, limits));
    if (better(outcome, found.outcome)) found = {simulator.policy(), outcome};
  };
  const Limit open{.question = {.budget = limit.question.budget, .objective = limit.question.objective},
                   .reserve = limit.reserve};
  consider(model, open);
  if (found.outcome.fits()) return found;
  Model still = model;
  for (TensorModel& tensor : still.tensors) tensor.can_page = false;
  consider(still, open);
  if (found.outcome.energy_excess > 0)
    consider(model, {.question = {.budget = limit.question.budget}, .reserve = limit.reserve});
  if (!found.outcome.fits())
    consider(model, {.question = {.budget = limit.question.budget,
                                  .deadline = limit.question.deadline,
                                  .objective = Objective::kTime},
                     .reserve = limit.reserve});
  return found;
}

SearchResult with_leaner_kernels(const Model& model, const Limit& limit, const Policy& policy) {
  Simulator simulator(model, limit);
  simulator.reset(policy);
  for (const OpIndex op : model.ops.indices()) {
    if (simulator.peak(model.ops[op].stage) <= limit.question.budget_bytes()) continue;
    for (int32_t choice = 0; choice < static_cast<int32_t>(model.ops[op].choices.size()); ++choice) {
      if (choice == simulator.policy().choices[op]) continue;
      const Outcome before = simulator.outcome(), after = simulator.propose_choice(op, choice);
      if (after.sound && after.excess < before.excess)
        simulator.accept();
      else
        simulator.reject();
    }
  }
  return {simulator.policy(), simulator.outcome()};
}

// Tries each page-in one, two, four, ... stages earlier, from the last use to the first.
Policy prefetch(const Model& model, const Limit& limit, Policy policy, const SearchLimits& limits) {
  if (!model.async || !model.uses(Switch::kPrefetch)) return policy;
  Simulator simulator(model, {.question = {.budget = limit.question.budget,
                                           .deadline = limit.question.deadline,
                                           .objective = limit.question.objective},
                              .reserve = limit.reserve,
                              .clock = true});
  simulator.reset(std::move(policy));
  for (const IntervalIndex interval : model.intervals.indices().descending()) {
    const Interval& span = model.intervals[interval];
    const IntervalPolicy start = simulator.policy().intervals[interval];
    if (start.evict >= span.to || span.to == model.never() || span.to > model.end()) continue;
    for (Stage ahead = 1; span.to - ahead > start.evict; ahead *= 2) {
      if (limits.stop && limits.stop()) return simulator.policy();
      IntervalPolicy to = simulator.policy().intervals[interval];
      to.fetch = span.to - ahead;
      const Outcome before = simulator.outcome(), after = simulator.propose({{interval, to}});
      if (after.sound && after.excess <= before.excess && after.time_excess <= before.time_excess &&
          after.energy <= before.energy * (1 + 1e-12) && after.time < before.time * (1 - 1e-9))
        simulator.accept();
      else
        simulator.reject();
    }
  }
  return simulator.policy();
}

}  // namespace pantoum::plan
