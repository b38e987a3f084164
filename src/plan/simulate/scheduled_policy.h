// A policy with its thresholds by stage, and the way back from a change of it.
#pragma once

#include <utility>
#include <vector>

#include "plan/simulate/policy.h"

namespace pantoum::plan {

class ScheduledPolicy {
 public:
  explicit ScheduledPolicy(const Model& model);

  // Replaces the policy.
  void reset(Policy policy);
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
  void change(IntervalIndex interval, const IntervalPolicy& to);
  // Changes an op's choice; returns the ops that have to be computed now and had not before, or the other way round.
  std::vector<OpIndex> change_choice(OpIndex op, int32_t choice);
  // Has anything been changed since keep() or revert()?
  bool changed() const { return !undo_.empty() || undo_op_.exists(); }
  // The changes stay.
  void keep();
  // The changes are taken back.
  void revert();

 private:
  void set(IntervalIndex interval, const IntervalPolicy& to);

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
