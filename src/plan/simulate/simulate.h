// The exact consequences of a policy: which instructions it gives, what they cost, and what RAM they take.
//
// A stage's instructions are run by StageRun. The accepted run knows which stages looked at which tensor, so a trial of
// a neighbour skips a stage when nothing that differs was looked at there; its live bytes are shifted. Where time
// matters, what every stage asks of the clock is noted, and from the first change on the notes are read again, but for
// stages that go on as before.
#pragma once

#include <algorithm>
#include <vector>

#include "plan/simulate/clock.h"
#include "plan/simulate/model.h"
#include "plan/simulate/policy.h"
#include "plan/simulate/stage_run.h"
#include "plan/simulate/trial.h"

namespace pantoum::plan {

// Simulates one policy and its neighbours. A neighbour costs the stages whose course it changes.
class Simulator {
 public:
  // The model is referred to. No policy is simulated yet.
  Simulator(const Model& model, const Limit& limit)
      : model_(model),
        valuation_(model, limit),
        policy_(model),
        accepted_(model, valuation_.budget(), valuation_.clocked(), limit.reserve.get()),
        trial_(model, accepted_, valuation_.clocked()),
        stage_run_(model, valuation_, policy_, trial_),
        clock_(model, valuation_.budget(), valuation_.first_live(), valuation_.clocked()) {}

  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // Replaces the policy; simulates all of it.
  const Outcome& reset(Policy policy) {
    policy_.reset(std::move(policy));
    proposed_ = run_all();
    accept();
    return outcome();
  }
  // The accepted policy; between a proposal and its accept() or reject(), the proposed one.
  const Policy& policy() const { return policy_.policy(); }
  // Returns the outcome of the accepted policy.
  const Outcome& outcome() const { return accepted_.outcome(); }

  struct Change {
    IntervalIndex interval;
    IntervalPolicy to;
  };
  // Returns what `changes` would give (one per interval). The caller then calls accept() or reject().
  Outcome propose(const std::vector<Change>& changes, const Interest& interest = {}) {
    trial_.clear();
    for (const Change& change : changes)
      if (!(policy_[change.interval] == change.to)) schedule_change(change);
    return proposed_ = run(interest);
  }

  // Returns what another choice of the op would give. The caller then calls accept() or reject().
  Outcome propose_choice(OpIndex op, int32_t choice, const Interest& interest = {}) {
    trial_.clear();
    const OpModel& changed = model_.ops[op];
    trial_.schedule(changed.stage, model_.end());
    for (const ChoiceModel& how : changed.choices)
      for (const TensorIndex tensor : how.writes) trial_.force(entity_of(tensor), changed.stage, model_.end());
    for (const OpIndex other : policy_.change_choice(op, choice))
      trial_.schedule(model_.ops[other].stage, model_.end());
    return proposed_ = run(interest);
  }

  // Makes what was proposed the accepted policy.
  void accept() {
    accepted_.take(trial_.record(), proposed_);
    policy_.keep();
    trial_.clear();
    if (valuation_.clocked() && outcome().sound && trial_.first_stage() <= model_.end())
      clock_.keep(accepted_, trial_.first_stage());
  }

  // Forgets what was proposed.
  void reject() {
    policy_.revert();
    trial_.clear();
  }

  // Returns the largest sum of live bytes while the stage runs, under the accepted policy.
  Bytes peak(Stage stage) const { return accepted_.peak(stage); }
  // The stages in [from, to) at which the accepted run looks at the tensor.
  void looks(TensorIndex tensor, Stage from, Stage to, std::vector<Stage>& stages) const {
    accepted_.looks(entity_of(tensor), from, to, stages);
  }

  // The instruction stream of the accepted policy.
  std::vector<Event> events() {
    std::vector<Event> log;
    stage_run_.log_to(&log);
    (void)run_all();
    stage_run_.log_to(nullptr);
    trial_.clear();
    return log;
  }

  // Does time matter, so that outcomes tell it?
  bool times() const { return valuation_.timed(); }
  // Is the makespan more than a sum: may a transfer run beside a compute?
  bool clocked() const { return valuation_.clocked(); }
  const Limit& limit() const { return valuation_.limit(); }

 private:
  static constexpr int64_t kMostGrowth =
      64;  // recomputations of a stage that a neighbour may have more: beyond, none is worth its time

  // The stages at which its thresholds stood or stand are run, and those after the first that look at the tensor.
  void schedule_change(const Change& change) {
    const IntervalPolicy& old = policy_[change.interval];
    const IntervalPolicy& to = change.to;
    const Interval& interval = model_.intervals[change.interval];
    Stage from = std::min(old.retain, to.retain);
    const auto shift = [&](Stage before, Stage after) {
      from = std::min({from, before, after});
      trial_.schedule(before, interval.to);
      trial_.schedule(after, interval.to);
    };
    if (old.evict != to.evict || old.page != to.page) shift(old.evict, to.evict);
    if (old.until != to.until || old.page != to.page) shift(old.until, to.until);
    if (old.fetch != to.fetch) shift(old.fetch, to.fetch);
    trial_.force(entity_of(interval.tensor), from, interval.to);
    policy_.change(change.interval, to);
  }

  Outcome run(const Interest& interest) {
    return outcome().sound && model_.uses(Switch::kIncremental) ? run_changed(interest) : run_all();
  }

  Outcome run_all() {
    trial_.start_whole();
    Bytes live = valuation_.first_live();
    for (Stage stage = 0; stage <= model_.end(); ++stage) {
      if (!run_stage(stage, live) || trial_.totals().work > stage_run_.most_work()) return fail();
      live = stage_run_.live();
    }
    return valuation_.outcome(trial_.totals(), time_from(0));
  }

  // Runs the stages that are scheduled and those that look at what differs; shifts the others.
  Outcome run_changed(const Interest& interest) {
    trial_.start_changed();
    if (trial_.first_stage() > model_.end()) return outcome();
    Stage next = trial_.first_stage();
    Bytes delta = 0;
    for (Stage stage = next; stage <= model_.end(); stage = next) {
      const Bytes before = accepted_.begin(stage);
      if (trial_.totals().work > stage_run_.most_work() || !run_stage(stage, before + delta)) return fail();
      trial_.compare(stage);
      delta = stage_run_.live() - before - accepted_.net(stage);
      next = trial_.next_stage(stage);
      if (delta != 0 && next > stage + 1) trial_.skip(stage + 1, next, delta);
    }
    const StageCost& totals = trial_.totals();
    if (!valuation_.clocked()) return valuation_.outcome(totals, time_from(0));
    const Outcome least = valuation_.outcome(totals, clock_.least_time(totals));
    if (model_.uses(Switch::kLeastTime) && interest.price(least) > interest.most) return {};
    return valuation_.outcome(totals, time_from(trial_.first_stage()));
  }

  bool run_stage(Stage stage, Bytes live) {
    trial_.begin_stage(stage, live);
    const int64_t most = trial_.record().whole ? stage_run_.most_work() : accepted_.cost(stage).work + kMostGrowth;
    if (!stage_run_.run(stage, live, most)) return false;
    trial_.end_stage(stage_run_.cost(), stage_run_.peak(), stage_run_.live(), valuation_.budget(stage));
    return true;
  }

  // The makespan of the trial, whose stages before this one are the accepted run's; 0 where time does not matter.
  Seconds time_from(Stage stage) {
    if (valuation_.clocked()) return clock_.run(accepted_, trial_.record(), stage);
    const StageCost& totals = trial_.totals();
    return valuation_.timed() ? totals.compute + totals.in + totals.out : 0;
  }

  // There is no instruction stream.
  Outcome fail() {
    stage_run_.recover();
    return {};
  }

  const Model& model_;
  const Valuation valuation_;
  ScheduledPolicy policy_;
  AcceptedRun accepted_;
  Trial trial_;
  StageRun stage_run_;
  Clock clock_;
  Outcome proposed_;
};

}  // namespace pantoum::plan
