#include "plan/search/neighbours.h"

#include <algorithm>
#include <cstdlib>

#include "plan/simulate/switches.h"

namespace pantoum::plan {
namespace {

constexpr int32_t kFollowTries = 32;

// May the tensor be wanted after its last use, for recomputing what was made of it?
Indexed<TensorIndex, char> wanted_after_last_use(const Model& model) {
  Indexed<TensorIndex, Stage> last(model.tensors.size(), 0);
  for (const Interval& interval : model.intervals)
    last[interval.tensor] = std::max(last[interval.tensor], interval.to == model.never() ? interval.from : interval.to);
  Indexed<TensorIndex, char> wanted(model.tensors.size(), 0);
  for (const OpModel& op : model.ops)
    for (const ChoiceModel& how : op.choices)
      for (const TensorIndex written : how.writes)
        for (const TensorIndex read : how.reads)
          if (op.recomputable && last[written] > last[read] + 1) wanted[read] = 1;
  return wanted;
}

// By stage: the next one whose live bytes are over the budget when everything is retained.
Indexed<Stage, Stage> next_pressed(const Model& model, Bytes ram) {
  Simulator simulator(model, {.question = {.budget = ram}});
  simulator.reset(keep_all(model, first_choices(model, Objective::kEnergy)));
  Indexed<Stage, Stage> next(static_cast<size_t>(model.end()) + 2, model.never());
  for (Stage stage = model.end(); stage >= 0; --stage)
    next[stage] = simulator.peak(stage) > ram ? stage : next[stage + 1];
  return next;
}

}  // namespace

Neighbours::Neighbours(const Model& model, Bytes ram) : model_(model) {
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
  const auto earlier = [&](IntervalIndex a, IntervalIndex b) {
    return model.intervals[a].from < model.intervals[b].from;
  };
  std::stable_sort(intervals_.begin(), intervals_.end(), earlier);
  pressed_ = static_cast<int32_t>(intervals_.size());
  intervals_.insert(intervals_.end(), calm.begin(), calm.end());
}

const std::vector<Simulator::Change>& Neighbours::draw(const Simulator& simulator, Random& random) {
  changes_.clear();
  const int32_t kind = random.below(16);
  if (kind < 3 && model_.uses(Switch::kSwap)) {
    swap(simulator, random);
  } else if (kind >= 3 && kind < 6 && model_.uses(Switch::kShift)) {
    shift(simulator, random);
  } else if (kind == 6 && model_.uses(Switch::kLean)) {
    lean(simulator, random);
  } else {
    for (int32_t count = kind < 10 && model_.uses(Switch::kPairs) ? 2 : 1; count > 0; --count) {
      const IntervalIndex interval = any(random);
      add(interval, redrawn(simulator, interval, random));
    }
  }
  return changes_;
}

Simulator::Change Neighbours::turned(const Simulator& simulator, IntervalIndex interval, Random& random) {
  const Interval& span = model_.intervals[interval];
  const bool is_retained = simulator.policy().intervals[interval].evict >= span.to;
  return {interval,
          is_retained || span.to == model_.never() ? evicted_somehow(simulator, interval, random) : retained(span)};
}

std::vector<Simulator::Change> Neighbours::follow(const Simulator& simulator, const Policy& guide, Random& random) {
  const Indexed<IntervalIndex, IntervalPolicy>& now = simulator.policy().intervals;
  for (int32_t tries = 0; tries < kFollowTries; ++tries) {
    const IntervalIndex interval = any(random);
    if (now[interval] == guide.intervals[interval]) continue;
    std::vector<Simulator::Change> changes{{interval, guide.intervals[interval]}};
    focus(interval, 2 << random.below(7));
    for (const IntervalIndex other : focused_)
      if (!(now[other] == guide.intervals[other])) changes.push_back({other, guide.intervals[other]});
    focus_on_all();
    return changes;
  }
  return {};
}

void Neighbours::focus(IntervalIndex interval, int32_t reach) {
  focused_.clear();
  const Interval& span = model_.intervals[interval];
  for (const IntervalIndex other : intervals_) {
    const Interval& each = model_.intervals[other];
    const bool near = std::abs(each.from - span.from) <= reach || std::abs(each.to - span.to) <= reach;
    if (other != interval && near && each.from < span.to && each.to > span.from) focused_.push_back(other);
  }
}

IntervalIndex Neighbours::any(Random& random) const {
  if (!focused_.empty()) return random.any(focused_);
  const bool everywhere = pressed_ == 0 || !model_.uses(Switch::kPressedIntervals) || random.one_in(32);
  return intervals_[static_cast<size_t>(random.below(everywhere ? count() : pressed_))];
}

void Neighbours::add(IntervalIndex interval, const IntervalPolicy& to) {
  for (const Simulator::Change& change : changes_)
    if (change.interval == interval) return;
  changes_.push_back({interval, to});
}

Stage Neighbours::last_stage(IntervalIndex interval) const {
  return std::min(model_.intervals[interval].to, model_.end() + 1);
}

// A stage in [low, the interval's next use]: mostly one that looks at the tensor.
Stage Neighbours::threshold(const Simulator& simulator, IntervalIndex interval, Stage low, Random& random) {
  const Stage high = last_stage(interval);
  if (!model_.uses(Switch::kThresholds))
    return low == model_.intervals[interval].from ? low : model_.intervals[interval].to;
  if (low >= high) return model_.intervals[interval].to;
  if (random.one_in(4)) return low + random.below(high - low);
  simulator.looks(model_.intervals[interval].tensor, low, high, looks_);
  const auto at = static_cast<size_t>(random.below(static_cast<int32_t>(looks_.size()) + 1));
  return at < looks_.size() ? looks_[at] : model_.intervals[interval].to;
}

IntervalPolicy Neighbours::evicted_somehow(const Simulator& simulator, IntervalIndex interval, Random& random) {
  const Interval& span = model_.intervals[interval];
  const bool page = may_page(model_, interval), drop = may_drop(model_, interval);
  IntervalPolicy policy = retained(span);
  policy.page = page && (!drop || random.one_in(2));
  policy.evict = random.below(4) != 0 ? span.from : threshold(simulator, interval, span.from, random);
  if (policy.evict >= span.to) return retained(span);
  if (moves_ahead(simulator) && page && random.one_in(2)) policy.fetch = ahead(interval, policy, random);
  if (!page && drop && random.one_in(4)) policy.fetch = while_inputs_last(interval, policy, random);
  if (random.one_in(3)) policy.retain = threshold(simulator, interval, policy.evict + 1, random);
  if (policy.retain >= span.to) return policy;
  if (span.to == model_.never() || random.one_in(4))
    policy.until = threshold(simulator, interval, policy.retain + 1, random);
  return policy;
}

bool Neighbours::moves_ahead(const Simulator& simulator) const {
  return simulator.times() && model_.async && model_.uses(Switch::kPageAhead);
}

// A stage to page in at: mostly little before the use.
Stage Neighbours::ahead(IntervalIndex interval, const IntervalPolicy& policy, Random& random) const {
  const Stage use = last_stage(interval);
  const Stage fetch = use - 1 - random.below(1 << random.below(7));
  return fetch > policy.evict && use <= model_.end() ? fetch : model_.intervals[interval].to;
}

// The last stage before the use at which an input of the tensor's recomputation is read anyway.
Stage Neighbours::while_inputs_last(IntervalIndex interval, const IntervalPolicy& policy, Random& random) const {
  const Interval& span = model_.intervals[interval];
  const OpIndex producer = model_.tensors[span.tensor].producer;
  if (!producer.exists() || !model_.uses(Switch::kEagerRecomputation)) return span.to;
  const std::vector<TensorIndex>& reads = model_.ops[producer].choices.front().reads;
  if (reads.empty()) return span.to;
  Stage last = span.to;
  for (const IntervalIndex each : model_.tensors[random.any(reads)].intervals)
    if (const Stage use = model_.intervals[each].to; use > policy.evict && use < span.to) last = use;
  return last;
}

IntervalPolicy Neighbours::redrawn(const Simulator& simulator, IntervalIndex interval, Random& random) {
  const Interval& span = model_.intervals[interval];
  const bool is_retained = simulator.policy().intervals[interval].evict >= span.to;
  if (!is_retained && random.one_in(2)) {
    if (span.to != model_.never()) return retained(span);
    return evicted(span, false);
  }
  return evicted_somehow(simulator, interval, random);
}

void Neighbours::swap(const Simulator& simulator, Random& random) {
  const int32_t from = random.below(count());
  const int32_t reach = std::min(count(), 24);
  const auto at = [&](int32_t place) { return intervals_[static_cast<size_t>(place)]; };
  const auto is_retained = [&](IntervalIndex interval) {
    return simulator.policy().intervals[interval].evict >= model_.intervals[interval].to;
  };
  for (int32_t tries = 0; tries < 4; ++tries) {
    const int32_t other = from + random.below(2 * reach + 1) - reach;
    if (other < 0 || other >= count() || other == from) continue;
    if (is_retained(at(from)) == is_retained(at(other))) continue;
    const IntervalIndex give = at(is_retained(at(from)) ? from : other), take = at(give == at(from) ? other : from);
    const Interval& taken = model_.intervals[take];
    add(take, taken.to == model_.never() ? redrawn(simulator, take, random) : retained(taken));
    add(give, evicted_somehow(simulator, give, random));
    return;
  }
}

void Neighbours::shift(const Simulator& simulator, Random& random) {
  for (int32_t tries = 0; tries < 4; ++tries) {
    const IntervalIndex interval = any(random);
    const Interval& span = model_.intervals[interval];
    IntervalPolicy policy = simulator.policy().intervals[interval];
    if (policy.evict >= span.to) continue;
    const int32_t which = random.below(moves_ahead(simulator) || !may_page(model_, interval) ? 6 : 4);
    if (which == 0) policy.evict = random.one_in(2) ? span.from : threshold(simulator, interval, span.from, random);
    if (which == 1)
      policy.retain = random.one_in(3) ? span.to : threshold(simulator, interval, policy.evict + 1, random);
    if (which == 2)
      policy.until = random.one_in(2) ? span.to : threshold(simulator, interval, policy.retain + 1, random);
    if (which == 3 && may_page(model_, interval) && may_drop(model_, interval)) policy.page = !policy.page;
    if (which >= 4 && !may_page(model_, interval))
      policy.fetch = random.one_in(3) ? span.to : while_inputs_last(interval, policy, random);
    else if (which >= 4)
      policy.fetch = random.one_in(4) ? span.to : ahead(interval, policy, random);
    if (policy.evict >= span.to) policy = retained(span);
    if (policy.fetch <= policy.evict) policy.fetch = span.to;
    if (policy.retain <= policy.evict) policy.retain = policy.evict + 1;
    if (policy.retain >= span.to) policy.retain = policy.until = span.to;
    if (policy.until <= policy.retain) policy.until = span.to;
    return add(interval, policy);
  }
}

void Neighbours::lean(const Simulator& simulator, Random& random) {
  const IntervalIndex interval = any(random);
  if (!may_drop(model_, interval) || model_.intervals[interval].to > model_.end()) return;
  for (const Simulator::Change& change :
       dropped_with_inputs(model_, simulator.policy(), interval, [&](TensorIndex) { return random.one_in(2); }))
    add(change.interval, change.to);
}

std::vector<Simulator::Change> dropped_with_inputs(const Model& model, const Policy& policy, IntervalIndex interval,
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

}  // namespace pantoum::plan
