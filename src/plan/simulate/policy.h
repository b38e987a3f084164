// What the search decides: for every interval retain, page or drop, with thresholds; for every op a choice.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "plan/simulate/model.h"

namespace pantoum::plan {

struct IntervalPolicy {
  Stage evict = 0;    // evicted right after this stage; >= the interval's `to`: retained
  Stage retain = 0;   // rematerialized at or after this stage (a recomputation needed it), it is retained
  Stage until = 0;    // ... until it is evicted again right after this stage; >= the interval's `to`: until its use
  Stage fetch = 0;    // rematerialized before this stage, ahead of the use; >= the interval's `to`: when it is used
  bool page = false;  // evicted by writing it to storage (once); otherwise dropped
  friend bool operator==(const IntervalPolicy&, const IntervalPolicy&) = default;
};

struct Policy {
  Indexed<IntervalIndex, IntervalPolicy> intervals;
  Choices choices;
  friend bool operator==(const Policy&, const Policy&) = default;
};

// The interval's tensor stays in RAM from the beginning of the interval to its end.
inline IntervalPolicy retained(const Interval& interval) {
  return {.evict = interval.to, .retain = interval.to, .until = interval.to, .fetch = interval.to};
}
// The interval's tensor is evicted at its beginning, and not retained again before its use.
inline IntervalPolicy evicted(const Interval& interval, bool page) {
  return {.evict = interval.from, .retain = interval.to, .until = interval.to, .fetch = interval.to, .page = page};
}

// Every tensor is retained until its last use under these choices.
Policy keep_all(const Model& model, Choices choices);

// May the interval's tensor be evicted by writing it to storage?
inline bool may_page(const Model& model, IntervalIndex interval) {
  return model.tensors[model.intervals[interval].tensor].can_page;
}
// May the interval's tensor be evicted without writing it? For good where no op has to read it afterwards.
inline bool may_drop(const Model& model, IntervalIndex interval) {
  const Interval& span = model.intervals[interval];
  return model.tensors[span.tensor].can_drop || span.to == model.never() || span.free;
}

// A policy with its thresholds by stage, and the way back from a change of it.

class ScheduledPolicy {
 public:
  explicit ScheduledPolicy(const Model& model) : model_(model) {
    for (const OpModel& op : model.ops) has_optional_ = has_optional_ || op.optional;
  }

  // Replaces the policy.
  void reset(Policy policy) {
    keep();
    policy_ = std::move(policy);
    needed_ = needed_ops(model_, policy_.choices);
    evicted_.assign(position_of(model_.never()), {});
    fetched_.assign(position_of(model_.never()), {});
    for (const IntervalIndex interval : policy_.intervals.indices()) {
      const IntervalPolicy& how = policy_.intervals[interval];
      const Stage use = model_.intervals[interval].to;
      if (how.evict < use) evicted_[how.evict].push_back(interval);
      if (how.until < use) evicted_[how.until].push_back(interval);
      if (how.fetch < use) fetched_[how.fetch].push_back(interval);
    }
  }

  const Policy& policy() const { return policy_; }
  const IntervalPolicy& operator[](IntervalIndex interval) const { return policy_.intervals[interval]; }
  int32_t choice(OpIndex op) const { return policy_.choices[op]; }
  // How the op is computed.
  const ChoiceModel& chosen(OpIndex op) const { return model_.chosen(op, policy_.choices); }
  // Must the op be computed under these choices?
  bool needs(OpIndex op) const { return needed_[op] != 0; }
  // The intervals whose tensor is evicted right after the stage, or fetched before it; ascending.
  const std::vector<IntervalIndex>& evicted(Stage stage) const { return evicted_[stage]; }
  const std::vector<IntervalIndex>& fetched(Stage stage) const { return fetched_[stage]; }

  // Changes an interval's policy.
  void change(IntervalIndex interval, const IntervalPolicy& to) {
    undo_.emplace_back(interval, policy_.intervals[interval]);
    set(interval, to);
  }

  // Changes an op's choice; returns the ops that have to be computed now and had not before, or the other way round.
  std::vector<OpIndex> change_choice(OpIndex op, int32_t choice) {
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

  // Has anything been changed since keep() or revert()?
  bool changed() const { return !undo_.empty() || undo_op_.exists(); }
  // The changes stay.
  void keep() {
    undo_.clear();
    undo_op_ = {};
  }

  // The changes are taken back.
  void revert() {
    for (size_t change = undo_.size(); change-- > 0;) set(undo_[change].first, undo_[change].second);
    if (undo_op_.exists()) {
      policy_.choices[undo_op_] = undo_choice_;
      if (has_optional_) needed_ = needed_ops(model_, policy_.choices);
    }
    keep();
  }

 private:
  static void insert_sorted(std::vector<IntervalIndex>& list, IntervalIndex interval) {
    list.insert(std::lower_bound(list.begin(), list.end(), interval), interval);
  }
  static void erase_sorted(std::vector<IntervalIndex>& list, IntervalIndex interval) {
    list.erase(std::lower_bound(list.begin(), list.end(), interval));
  }

  void set(IntervalIndex interval, const IntervalPolicy& to) {
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

  const Model& model_;
  bool has_optional_ = false;
  Policy policy_;
  Indexed<OpIndex, char> needed_;
  Indexed<Stage, std::vector<IntervalIndex>> evicted_, fetched_;
  std::vector<std::pair<IntervalIndex, IntervalPolicy>> undo_;
  OpIndex undo_op_;
  int32_t undo_choice_ = 0;
};

}  // namespace pantoum::plan
