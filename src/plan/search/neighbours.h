// Small changes of a policy, drawn at random. Thresholds are mostly put where the tensor is looked at: elsewhere they
// make no difference but to the live bytes.
//
//   redraw   an interval is retained, or evicted in a random way
//   pair     two intervals redrawn
//   swap     an interval that is evicted is retained, and another of about the same time is evicted
//   shift    one threshold of an interval that is evicted is moved; where transfers run beside compute, also its page-in
//   lean     an interval is dropped, and what its recomputation reads is retained
#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <vector>

#include "base/random.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {

using base::Random;

// The interval's tensor is dropped at its beginning, and those inputs of its op that `keep` wants are in RAM at its use,
// where it is recomputed: each is retained from the last time that it is there on, beyond its own last use if need be. The
// first change is the interval's. The tensor has a producer. Cost: linear in the intervals of the inputs.
inline std::vector<Simulator::Change> dropped_with_inputs(const Model& model, const Policy& policy,
                                                          IntervalIndex interval,
                                                          const std::function<bool(TensorIndex)>& keep) {
  const Interval& span = model.intervals[interval];
  std::vector<Simulator::Change> changes{{interval, evicted(span, false)}};
  const OpIndex producer = model.tensors[span.tensor].producer;
  if (!producer.exists()) return changes;
  for (const TensorIndex read : model.chosen(producer, policy.choices).reads) {
    if (model.tensors[read].pinned || !keep(read)) continue;
    for (const IntervalIndex each : model.tensors[read].intervals) {
      const Interval& input = model.intervals[each];
      if (input.from >= span.to || input.to < span.to) continue;
      const IntervalPolicy& now = policy.intervals[each];
      if (now.evict >= std::min(span.to, input.to)) continue;  // it is there
      IntervalPolicy longer = retained(input);
      longer.page = now.page;
      if (span.to < input.to) longer.evict = span.to;
      changes.push_back({each, longer});
    }
  }
  return changes;
}

class Neighbours {
 public:
  // The neighbours are those of the simulator's policy. `ram`: intervals that no stage over it crosses when everything is retained are drawn seldom.
  Neighbours(const Model& model, Bytes ram, const Simulator& simulator, Random& random)
      : model_(model), simulator_(simulator), random_(random) {
    const Indexed<TensorIndex, char> wanted = wanted_after_last_use(model);
    const Indexed<Stage, Stage> pressed = next_pressed(model, ram);
    std::vector<IntervalIndex> calm;
    for (const IntervalIndex interval : model.intervals.indices()) {
      const Interval& span = model.intervals[interval];
      const TensorModel& tensor = model.tensors[span.tensor];
      const bool last = span.to == model.never();
      const bool of_use = wanted[span.tensor] || !model.uses(Switch::kWantedIntervals);
      if (tensor.pinned || (last ? !of_use || tensor.ends_in_aux : span.to - span.from <= 1)) continue;
      if (!may_page(model, interval) && !may_drop(model, interval)) continue;
      if (span.from + 1 <= model.end() && pressed[span.from + 1] < span.to)
        intervals_.push_back(interval);
      else
        calm.push_back(interval);
    }
    std::ranges::stable_sort(intervals_, {}, [&](IntervalIndex interval) { return model.intervals[interval].from; });
    pressed_ = static_cast<int32_t>(intervals_.size());
    intervals_.insert(intervals_.end(), calm.begin(), calm.end());
  }

  // Is the interval's tensor retained by the simulator's policy?
  bool is_retained(IntervalIndex interval) const {
    return simulator_.policy().intervals[interval].evict >= model_.intervals[interval].to;
  }
  // Is there nothing to draw?
  bool empty() const { return intervals_.empty(); }
  // How many intervals there are to draw from.
  int32_t count() const { return static_cast<int32_t>(intervals_.size()); }
  // One neighbour of the simulator's policy. May be the policy itself.
  const std::vector<Simulator::Change>& draw() {
    changes_.clear();
    const int32_t kind = random_.below(16);
    if (kind < 3 && model_.uses(Switch::kSwap)) {
      swap();
    } else if (kind >= 3 && kind < 6 && model_.uses(Switch::kShift)) {
      shift();
    } else if (kind == 6 && model_.uses(Switch::kLean)) {
      lean();
    } else {
      for (int32_t count = kind < 10 && model_.uses(Switch::kPairs) ? 2 : 1; count > 0; --count) {
        const IntervalIndex interval = any();
        add(interval, redrawn(interval));
      }
    }
    return changes_;
  }

  // A large change for a start: an interval that is retained is evicted, or the other way round.
  Simulator::Change turn() { return turned(any()); }
  // Returns such a change of the given interval.
  Simulator::Change turned(IntervalIndex interval) {
    const Interval& span = model_.intervals[interval];
    return {interval, is_retained(interval) || span.to == model_.never() ? evicted_somehow(interval) : retained(span)};
  }

  // An interval that another policy has otherwise, and those near it that differ too, as they are there. May be empty.
  std::vector<Simulator::Change> follow(const Policy& guide) {
    const Indexed<IntervalIndex, IntervalPolicy>& now = simulator_.policy().intervals;
    for (int32_t tries = 0; tries < kFollowTries; ++tries) {
      const IntervalIndex interval = any();
      if (now[interval] == guide.intervals[interval]) continue;
      std::vector<Simulator::Change> changes{{interval, guide.intervals[interval]}};
      focus(interval, 2 << random_.below(7));
      for (const IntervalIndex other : focused_)
        if (!(now[other] == guide.intervals[other])) changes.push_back({other, guide.intervals[other]});
      focus_on_all();
      return changes;
    }
    return {};
  }

  // Draws from now on only from intervals that overlap this one and begin or end within `reach` stages of it, without
  // the interval itself.
  void focus(IntervalIndex interval, int32_t reach) {
    focused_.clear();
    const Interval& span = model_.intervals[interval];
    for (const IntervalIndex other : intervals_) {
      const Interval& each = model_.intervals[other];
      const bool near = std::abs(each.from - span.from) <= reach || std::abs(each.to - span.to) <= reach;
      if (other != interval && near && each.from < span.to && each.to > span.from) focused_.push_back(other);
    }
  }

  // Draws from all intervals from now on.
  void focus_on_all() { focused_.clear(); }
  // Returns the intervals that are drawn from; empty: all.
  const std::vector<IntervalIndex>& focused() const { return focused_; }

 private:
  static constexpr int32_t kFollowTries = 32;

  // May the tensor be wanted after its last use, for recomputing what was made of it?
  static Indexed<TensorIndex, char> wanted_after_last_use(const Model& model) {
    Indexed<TensorIndex, Stage> last(model.tensors.size(), 0);
    for (const Interval& interval : model.intervals)
      last[interval.tensor] =
          std::max(last[interval.tensor], interval.to == model.never() ? interval.from : interval.to);
    Indexed<TensorIndex, char> wanted(model.tensors.size(), 0);
    for (const OpModel& op : model.ops)
      for (const ChoiceModel& how : op.choices)
        for (const TensorIndex written : how.writes)
          for (const TensorIndex read : how.reads)
            if (op.recomputable && last[written] > last[read] + 1) wanted[read] = 1;
    return wanted;
  }

  // Returns for each stage the next stage whose live bytes are over the budget when everything is retained.
  static Indexed<Stage, Stage> next_pressed(const Model& model, Bytes ram) {
    Simulator simulator(model, {.question = {.budget = ram}});
    simulator.reset(keep_all(model, first_choices(model, Objective::kEnergy)));
    Indexed<Stage, Stage> next(position_of(model.end()) + 2, model.never());
    for (Stage stage = model.end(); stage >= 0; --stage)
      next[stage] = simulator.peak(stage) > ram ? stage : next[stage + 1];
    return next;
  }

  IntervalIndex any() const {
    if (!focused_.empty()) return random_.any(focused_);
    const bool everywhere = pressed_ == 0 || !model_.uses(Switch::kPressedIntervals) || random_.one_in(32);
    return intervals_[position_of(random_.below(everywhere ? count() : pressed_))];
  }

  Stage last_stage(IntervalIndex interval) const { return std::min(model_.intervals[interval].to, model_.end() + 1); }

  // A stage in [low, the interval's next use]: mostly one that looks at the tensor.
  Stage threshold(IntervalIndex interval, Stage low) {
    const Stage high = last_stage(interval);
    if (!model_.uses(Switch::kThresholds))
      return low == model_.intervals[interval].from ? low : model_.intervals[interval].to;
    if (low >= high) return model_.intervals[interval].to;
    if (random_.one_in(4)) return low + random_.below(high - low);
    simulator_.looks(model_.intervals[interval].tensor, low, high, looks_);
    const auto at = position_of(random_.below(static_cast<int32_t>(looks_.size()) + 1));
    return at < looks_.size() ? looks_[at] : model_.intervals[interval].to;
  }

  bool moves_ahead() const { return simulator_.times() && model_.async && model_.uses(Switch::kPageAhead); }

  // The last stage before the use at which an input of the tensor's recomputation is read anyway.
  Stage while_inputs_last(IntervalIndex interval, const IntervalPolicy& policy) const {
    const Interval& span = model_.intervals[interval];
    const OpIndex producer = model_.tensors[span.tensor].producer;
    if (!producer.exists() || !model_.uses(Switch::kEagerRecomputation)) return span.to;
    const std::vector<TensorIndex>& reads = model_.ops[producer].choices.front().reads;
    if (reads.empty()) return span.to;
    Stage last = span.to;
    for (const IntervalIndex each : model_.tensors[random_.any(reads)].intervals)
      if (const Stage use = model_.intervals[each].to; use > policy.evict && use < span.to) last = use;
    return last;
  }

  // A stage to page in at: mostly little before the use.
  Stage ahead(IntervalIndex interval, const IntervalPolicy& policy) const {
    const Stage use = last_stage(interval);
    const Stage fetch = use - 1 - random_.below(1 << random_.below(7));
    return fetch > policy.evict && use <= model_.end() ? fetch : model_.intervals[interval].to;
  }

  IntervalPolicy redrawn(IntervalIndex interval) {
    const Interval& span = model_.intervals[interval];
    if (!is_retained(interval) && random_.one_in(2)) {
      if (span.to != model_.never()) return retained(span);
      return evicted(span, false);
    }
    return evicted_somehow(interval);
  }

  IntervalPolicy evicted_somehow(IntervalIndex interval) {
    const Interval& span = model_.intervals[interval];
    const bool page = may_page(model_, interval), drop = may_drop(model_, interval);
    IntervalPolicy policy = retained(span);
    policy.page = page && (!drop || random_.one_in(2));
    policy.evict = random_.below(4) != 0 ? span.from : threshold(interval, span.from);
    if (policy.evict >= span.to) return retained(span);
    if (moves_ahead() && page && random_.one_in(2)) policy.fetch = ahead(interval, policy);
    if (!page && drop && random_.one_in(4)) policy.fetch = while_inputs_last(interval, policy);
    if (random_.one_in(3)) policy.retain = threshold(interval, policy.evict + 1);
    if (policy.retain >= span.to) return policy;
    if (span.to == model_.never() || random_.one_in(4)) policy.until = threshold(interval, policy.retain + 1);
    return policy;
  }

  void add(IntervalIndex interval, const IntervalPolicy& to) {
    for (const Simulator::Change& change : changes_)
      if (change.interval == interval) return;
    changes_.push_back({interval, to});
  }

  void swap() {
    const int32_t from = random_.below(count());
    const int32_t reach = std::min(count(), 24);
    const auto at = [&](int32_t place) { return intervals_[position_of(place)]; };
    for (int32_t tries = 0; tries < 4; ++tries) {
      const int32_t other = from + random_.below(2 * reach + 1) - reach;
      if (other < 0 || other >= count() || other == from) continue;
      if (is_retained(at(from)) == is_retained(at(other))) continue;
      const IntervalIndex give = at(is_retained(at(from)) ? from : other), take = at(give == at(from) ? other : from);
      const Interval& taken = model_.intervals[take];
      add(take, taken.to == model_.never() ? redrawn(take) : retained(taken));
      add(give, evicted_somehow(give));
      return;
    }
  }

  void shift() {
    for (int32_t tries = 0; tries < 4; ++tries) {
      const IntervalIndex interval = any();
      const Interval& span = model_.intervals[interval];
      IntervalPolicy policy = simulator_.policy().intervals[interval];
      if (policy.evict >= span.to) continue;
      const int32_t which = random_.below(moves_ahead() || !may_page(model_, interval) ? 6 : 4);
      if (which == 0) policy.evict = random_.one_in(2) ? span.from : threshold(interval, span.from);
      if (which == 1) policy.retain = random_.one_in(3) ? span.to : threshold(interval, policy.evict + 1);
      if (which == 2) policy.until = random_.one_in(2) ? span.to : threshold(interval, policy.retain + 1);
      if (which == 3 && may_page(model_, interval) && may_drop(model_, interval)) policy.page = !policy.page;
      if (which >= 4 && !may_page(model_, interval))
        policy.fetch = random_.one_in(3) ? span.to : while_inputs_last(interval, policy);
      else if (which >= 4)
        policy.fetch = random_.one_in(4) ? span.to : ahead(interval, policy);
      if (policy.evict >= span.to) policy = retained(span);
      if (policy.fetch <= policy.evict) policy.fetch = span.to;
      if (policy.retain <= policy.evict) policy.retain = policy.evict + 1;
      if (policy.retain >= span.to) policy.retain = policy.until = span.to;
      if (policy.until <= policy.retain) policy.until = span.to;
      return add(interval, policy);
    }
  }

  void lean() {
    const IntervalIndex interval = any();
    if (!may_drop(model_, interval) || model_.intervals[interval].to > model_.end()) return;
    for (const Simulator::Change& change :
         dropped_with_inputs(model_, simulator_.policy(), interval, [&](TensorIndex) { return random_.one_in(2); }))
      add(change.interval, change.to);
  }

  const Model& model_;
  const Simulator& simulator_;
  Random& random_;
  std::vector<IntervalIndex> intervals_;  // by their beginning; those of pressed stages first
  int32_t pressed_ = 0;                   // how many of them
  std::vector<IntervalIndex> focused_;
  std::vector<Simulator::Change> changes_;
  std::vector<Stage> looks_;
};

}  // namespace pantoum::plan
