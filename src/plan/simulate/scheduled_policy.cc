#include "plan/simulate/scheduled_policy.h"

#include <algorithm>

namespace pantoum::plan {
namespace {

void insert_sorted(std::vector<IntervalIndex>& list, IntervalIndex interval) {
  list.insert(std::lower_bound(list.begin(), list.end(), interval), interval);
}
void erase_sorted(std::vector<IntervalIndex>& list, IntervalIndex interval) {
  list.erase(std::lower_bound(list.begin(), list.end(), interval));
}

}  // namespace

ScheduledPolicy::ScheduledPolicy(const Model& model) : model_(model) {
  for (const OpModel& op : model.ops) has_optional_ = has_optional_ || op.optional;
}

void ScheduledPolicy::reset(Policy policy) {
  keep();
  policy_ = std::move(policy);
  needed_ = needed_ops(model_, policy_.choices);
  evicted_.assign(static_cast<size_t>(model_.never()), {});
  fetched_.assign(static_cast<size_t>(model_.never()), {});
  for (const IntervalIndex interval : policy_.intervals.indices()) {
    const IntervalPolicy& how = policy_.intervals[interval];
    const Stage use = model_.intervals[interval].to;
    if (how.evict < use) evicted_[how.evict].push_back(interval);
    if (how.until < use) evicted_[how.until].push_back(interval);
    if (how.fetch < use) fetched_[how.fetch].push_back(interval);
  }
}

void ScheduledPolicy::set(IntervalIndex interval, const IntervalPolicy& to) {
  IntervalPolicy& how = policy_.intervals[interval];
  const Stage use = model_.intervals[interval].to;
  const auto move = [&](Indexed<Stage, std::vector<IntervalIndex>>& lists, Stage before, Stage after) {
    if (before == after) return;
    if (before < use) erase_sorted(lists[before], interval);
    if (after < use) insert_sorted(lists[after], interval);
  };
  move(evicted_, how.evict, to.evict);
  move(evicted_, how.until, to.until);
  move(fetched_, how.fetch, to.fetch);
  how = to;
}

void ScheduledPolicy::change(IntervalIndex interval, const IntervalPolicy& to) {
  undo_.emplace_back(interval, policy_.intervals[interval]);
  set(interval, to);
}

std::vector<OpIndex> ScheduledPolicy::change_choice(OpIndex op, int32_t choice) {
  undo_op_ = op;
  undo_choice_ = policy_.choices[op];
  policy_.choices[op] = choice;
  std::vector<OpIndex> other;
  if (!has_optional_) return other;
  const Indexed<OpIndex, char> before = std::exchange(needed_, needed_ops(model_, policy_.choices));
  for (const OpIndex each : needed_.indices())
    if (before[each] != needed_[each]) other.push_back(each);
  return other;
}

void ScheduledPolicy::keep() {
  undo_.clear();
  undo_op_ = {};
}

void ScheduledPolicy::revert() {
  for (size_t change = undo_.size(); change-- > 0;) set(undo_[change].first, undo_[change].second);
  if (undo_op_.exists()) {
    policy_.choices[undo_op_] = undo_choice_;
    if (has_optional_) needed_ = needed_ops(model_, policy_.choices);
  }
  keep();
}

}  // namespace pantoum::plan
