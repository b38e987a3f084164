#include "plan/search/neighbours.h"

#include <algorithm>
#include <cstdlib>

namespace pantoum::plan {
namespace {

constexpr int32_t kFollowTries = 32;

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

IntervalPolicy kept(const Interval& span) {
  return retained(span);
}

// May the tensor be wanted after its last use, for recomputing what was made of it?
std::vector<char> wanted_after_last_use(const Model& model) {
  std::vector<int32_t> last(model.tensors.size(), 0);
  for (const Interval& interval : model.intervals)
    last[z(interval.tensor)] =
        std::max(last[z(interval.tensor)], interval.to == model.never() ? interval.from : interval.to);
  std::vector<char> wanted(model.tensors.size(), 0);
  for (const OpModel& op : model.ops)
    for (const ChoiceModel& how : op.choices)
      for (const int32_t written : how.writes)
        for (const int32_t read : how.reads)
          if (op.recomputable && last[z(written)] > last[z(read)] + 1) wanted[z(read)] = 1;
  return wanted;
}

// The first stages at which the load exceeds the budget when everything is kept, by stage: the next one.
std::vector<int32_t> next_pressed(const Model& model, Bytes ram) {
  Simulator simulator(model, {.question = {.budget = ram}});
  simulator.reset(keep_all(model, first_choices(model, Objective::kEnergy)));
  std::vector<int32_t> next(z(model.end()) + 2, model.never());
  for (int32_t stage = model.end(); stage >= 0; --stage)
    next[z(stage)] = simulator.peak(stage) > ram ? stage : next[z(stage) + 1];
  return next;
}

}  // namespace

Neighbours::Neighbours(const Model& model, Bytes ram) : model_(model) {
  const std::vector<char> wanted = wanted_after_last_use(model);
  const std::vector<int32_t> pressed = next_pressed(model, ram);
  std::vector<int32_t> calm;
  for (int32_t interval = 0; interval < static_cast<int32_t>(model.intervals.size()); ++interval) {
    const Interval& span = model.intervals[z(interval)];
    const TensorModel& tensor = model.tensors[z(span.tensor)];
    const bool last = span.to == model.never();
    const bool of_use = wanted[z(span.tensor)] || !model.uses(Switch::kWantedIntervals);
    if (tensor.pinned || (last ? !of_use || tensor.ends_in_aux : span.to - span.from <= 1)) continue;
    if (!may_page(model, interval) && !may_drop(model, interval)) continue;
    if (span.from + 1 <= model.end() && pressed[z(span.from) + 1] < span.to)
      intervals_.push_back(interval);
    else
      calm.push_back(interval);
  }
  const auto earlier = [&](int32_t a, int32_t b) { return model.intervals[z(a)].from < model.intervals[z(b)].from; };
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
      const int32_t interval = any(random);
      add(interval, redrawn(simulator, interval, random));
    }
  }
  return changes_;
}

Simulator::Change Neighbours::turned(const Simulator& simulator, int32_t interval, Random& random) {
  const Interval& span = model_.intervals[z(interval)];
  const bool is_kept = simulator.policy().intervals[z(interval)].evict >= span.to;
  return {interval, is_kept || span.to == model_.never() ? given_up(simulator, interval, random) : kept(span)};
}

std::vector<Simulator::Change> Neighbours::follow(const Simulator& simulator, const Policy& guide, Random& random) {
  const auto& now = simulator.policy().intervals;
  for (int32_t tries = 0; tries < kFollowTries; ++tries) {
    const int32_t interval = any(random);
    if (now[z(interval)] == guide.intervals[z(interval)]) continue;
    std::vector<Simulator::Change> changes{{interval, guide.intervals[z(interval)]}};
    focus(interval, 2 << random.below(7));
    for (const int32_t other : focused_)
      if (!(now[z(other)] == guide.intervals[z(other)])) changes.push_back({other, guide.intervals[z(other)]});
    focus_on_all();
    return changes;
  }
  return {};
}

void Neighbours::focus(int32_t interval, int32_t reach) {
  focused_.clear();
  const Interval& span = model_.intervals[z(interval)];
  for (const int32_t other : intervals_) {
    const Interval& each = model_.intervals[z(other)];
    const bool near = std::abs(each.from - span.from) <= reach || std::abs(each.to - span.to) <= reach;
    if (other != interval && near && each.from < span.to && each.to > span.from) focused_.push_back(other);
  }
}

int32_t Neighbours::any(Random& random) const {
  if (!focused_.empty()) return focused_[z(random.below(static_cast<int32_t>(focused_.size())))];
  const bool everywhere = pressed_ == 0 || !model_.uses(Switch::kPressedIntervals) || random.one_in(32);
  return intervals_[z(random.below(everywhere ? count() : pressed_))];
}

void Neighbours::add(int32_t interval, const IntervalPolicy& to) {
  for (const Simulator::Change& change : changes_)
    if (change.interval == interval) return;
  changes_.push_back({interval, to});
}

int32_t Neighbours::last_stage(int32_t interval) const {
  return std::min(model_.intervals[z(interval)].to, model_.end() + 1);
}

// A stage in [low, the interval's next use]: mostly one that looks at the tensor.
int32_t Neighbours::threshold(const Simulator& simulator, int32_t interval, int32_t low, Random& random) {
  const int32_t high = last_stage(interval);
  if (!model_.uses(Switch::kThresholds))
    return low == model_.intervals[z(interval)].from ? low : model_.intervals[z(interval)].to;
  if (low >= high) return model_.intervals[z(interval)].to;
  if (random.one_in(4)) return low + random.below(high - low);
  simulator.looks(model_.intervals[z(interval)].tensor, low, high, looks_);
  const int32_t at = random.below(static_cast<int32_t>(looks_.size()) + 1);
  return z(at) < looks_.size() ? looks_[z(at)] : model_.intervals[z(interval)].to;
}

IntervalPolicy Neighbours::given_up(const Simulator& simulator, int32_t interval, Random& random) {
  const Interval& span = model_.intervals[z(interval)];
  const bool page = may_page(model_, interval), drop = may_drop(model_, interval);
  IntervalPolicy policy = kept(span);
  policy.page = page && (!drop || random.one_in(2));
  policy.evict = random.below(4) != 0 ? span.from : threshold(simulator, interval, span.from, random);
  if (policy.evict >= span.to) return kept(span);
  if (moves_ahead(simulator) && page && random.one_in(2)) policy.fetch = ahead(interval, policy, random);
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
int32_t Neighbours::ahead(int32_t interval, const IntervalPolicy& policy, Random& random) const {
  const int32_t use = last_stage(interval);
  const int32_t fetch = use - 1 - random.below(1 << random.below(7));
  return fetch > policy.evict && use <= model_.end() ? fetch : model_.intervals[z(interval)].to;
}

IntervalPolicy Neighbours::redrawn(const Simulator& simulator, int32_t interval, Random& random) {
  const Interval& span = model_.intervals[z(interval)];
  const bool is_kept = simulator.policy().intervals[z(interval)].evict >= span.to;
  if (!is_kept && random.one_in(2)) {
    if (span.to != model_.never()) return kept(span);
    IntervalPolicy gone = kept(span);
    gone.evict = span.from;
    return gone;
  }
  return given_up(simulator, interval, random);
}

void Neighbours::swap(const Simulator& simulator, Random& random) {
  const int32_t from = random.below(count());
  const int32_t reach = std::min(count(), 24);
  int32_t other = from;
  for (int32_t tries = 0; tries < 4; ++tries) {
    other = from + random.below(2 * reach + 1) - reach;
    if (other < 0 || other >= count() || other == from) continue;
    const IntervalPolicy &one = simulator.policy().intervals[z(intervals_[z(from)])],
                         &two = simulator.policy().intervals[z(intervals_[z(other)])];
    const bool one_kept = one.evict >= model_.intervals[z(intervals_[z(from)])].to;
    const bool two_kept = two.evict >= model_.intervals[z(intervals_[z(other)])].to;
    if (one_kept == two_kept) continue;
    const int32_t give = intervals_[z(one_kept ? from : other)], take = intervals_[z(one_kept ? other : from)];
    add(take, model_.intervals[z(take)].to == model_.never() ? redrawn(simulator, take, random)
                                                             : kept(model_.intervals[z(take)]));
    add(give, given_up(simulator, give, random));
    return;
  }
}

void Neighbours::shift(const Simulator& simulator, Random& random) {
  for (int32_t tries = 0; tries < 4; ++tries) {
    const int32_t interval = any(random);
    const Interval& span = model_.intervals[z(interval)];
    IntervalPolicy policy = simulator.policy().intervals[z(interval)];
    if (policy.evict >= span.to) continue;
    const int32_t which = random.below(moves_ahead(simulator) ? 6 : 4);
    if (which == 0) policy.evict = random.one_in(2) ? span.from : threshold(simulator, interval, span.from, random);
    if (which == 1)
      policy.retain = random.one_in(3) ? span.to : threshold(simulator, interval, policy.evict + 1, random);
    if (which == 2)
      policy.until = random.one_in(2) ? span.to : threshold(simulator, interval, policy.retain + 1, random);
    if (which == 3 && may_page(model_, interval) && may_drop(model_, interval)) policy.page = !policy.page;
    if (which >= 4) policy.fetch = random.one_in(4) ? span.to : ahead(interval, policy, random);
    if (policy.evict >= span.to) policy = kept(span);
    if (policy.fetch <= policy.evict) policy.fetch = span.to;
    if (policy.retain <= policy.evict) policy.retain = policy.evict + 1;
    if (policy.retain >= span.to) policy.retain = policy.until = span.to;
    if (policy.until <= policy.retain) policy.until = span.to;
    return add(interval, policy);
  }
}

void Neighbours::lean(const Simulator& simulator, Random& random) {
  const int32_t interval = any(random);
  const Interval& span = model_.intervals[z(interval)];
  const int32_t producer = model_.tensors[z(span.tensor)].producer;
  if (!may_drop(model_, interval) || span.to > model_.end() || producer < 0) return;
  IntervalPolicy dropped = kept(span);
  dropped.evict = span.from;
  add(interval, dropped);
  const OpModel& op = model_.ops[z(producer)];
  for (const int32_t read : op.choices[z(simulator.policy().choices[z(producer)])].reads) {
    const TensorModel& tensor = model_.tensors[z(read)];
    for (const IntervalIndex each : tensor.intervals) {
      const Interval& input = model_.intervals[z(each)];
      if (input.from >= span.to || input.to < span.to || input.to == model_.never()) continue;
      IntervalPolicy policy = simulator.policy().intervals[z(each)];
      if (random.one_in(2)) {
        policy = kept(input);
      } else if (policy.evict < span.to) {
        policy.retain = std::max(policy.evict + 1, span.to);
        policy.until = input.to;
        if (policy.retain >= input.to) policy.retain = input.to;
      }
      add(each, policy);
    }
  }
}

}  // namespace pantoum::plan
