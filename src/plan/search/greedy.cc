#include <algorithm>
#include <queue>
#include <tuple>

#include "plan/search/search.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {
namespace {

// An interval that may be evicted at once, and what that cost per byte saved when it was last looked at.
struct Candidate {
  double score = 0;
  IntervalIndex interval;
  bool page = false;
  // The least score first; of equals the first interval, paged.
  friend bool operator<(const Candidate& a, const Candidate& b) {
    return std::tuple(a.score, a.interval, !a.page) > std::tuple(b.score, b.interval, !b.page);
  }
};

class Evictor {
 public:
  Evictor(const Model& model, const Limit& limit, Policy start, const SearchLimits& limits)
      : model_(model), limits_(limits), simulator_(model, limit) {
    simulator_.reset(std::move(start));
  }

  SearchResult run() {
    while (pressed() && !stopped()) {
      look_at_all();
      if (!evict()) break;
    }
    return {simulator_.policy(), simulator_.outcome()};
  }

 private:
  [[nodiscard]] bool pressed() const { return simulator_.outcome().excess > 0 || !simulator_.outcome().sound; }
  [[nodiscard]] bool stopped() const { return limits_.stop && limits_.stop(); }

  void look_at_all() {
    found_ = {};
    for (const IntervalIndex interval : model_.intervals.indices()) {
      if (stopped()) return;
      for (const bool page : {true, false}) look_at(interval, page);
    }
  }

  void look_at(IntervalIndex interval, bool page) {
    const Interval& span = model_.intervals[interval];
    if (span.to == model_.never() || span.to - span.from <= 1) return;
    if (page ? !may_page(model_, interval) : !may_drop(model_, interval)) return;
    const IntervalPolicy to = evicted(span, page);
    if (to == simulator_.policy().intervals[interval]) return;
    const Outcome before = simulator_.outcome(), after = simulator_.propose({{interval, to}});
    simulator_.reject();
    if (!after.sound || after.excess >= before.excess) return;
    const double paid = std::max(0.0, after.value - before.value) + 1e-12 * before.value;
    found_.push({paid / (before.excess - after.excess), interval, page});
  }

  // An eviction changes what the others bring, mostly for the worse: only the first is looked at again.
  bool evict() {
    bool any = false;
    while (pressed() && !found_.empty() && !stopped()) {
      const Candidate first = found_.top();
      found_.pop();
      look_at(first.interval, first.page);
      if (found_.empty()) break;
      const Candidate& best = found_.top();
      if (best.interval != first.interval || best.page != first.page) continue;
      found_.pop();
      simulator_.propose({{first.interval, evicted(model_.intervals[first.interval], first.page)}});
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
  const Limit open{.question = {.budget = limit.question.budget, .objective = limit.question.objective}};
  consider(model, open);
  if (found.outcome.fits()) return found;
  Model still = model;
  for (TensorModel& tensor : still.tensors) tensor.can_page = false;
  consider(still, open);
  if (found.outcome.energy_excess > 0) consider(model, {.question = {.budget = limit.question.budget}});
  if (!found.outcome.fits())
    consider(model, {.question = {.budget = limit.question.budget,
                                  .deadline = limit.question.deadline,
                                  .objective = Objective::kTime}});
  return found;
}

}  // namespace pantoum::plan
