#include "plan/simulate/simulate.h"

#include <algorithm>

#include "plan/simulate/switches.h"

namespace pantoum::plan {
namespace {

constexpr int64_t kMostGrowth =
    64;  // recomputations of a stage that a neighbour may have more: beyond, none is worth its time

}  // namespace

Simulator::Simulator(const Model& model, const Limit& limit)
    : model_(model),
      valuation_(model, limit),
      policy_(model),
      accepted_(model, valuation_.budget(), valuation_.clocked(), limit.reserve.get()),
      trial_(model, accepted_, valuation_.clocked()),
      stage_run_(model, valuation_, policy_, trial_),
      clock_(model, valuation_.budget(), valuation_.first_live(), valuation_.clocked()) {}

const Outcome& Simulator::reset(Policy policy) {
  policy_.reset(std::move(policy));
  proposed_ = run_all();
  accept();
  return outcome();
}

Outcome Simulator::propose(const std::vector<Change>& changes, const Interest& interest) {
  trial_.clear();
  for (const Change& change : changes)
    if (!(policy_[change.interval] == change.to)) schedule_change(change);
  return proposed_ = run(interest);
}

// The stages at which its thresholds stood or stand are run, and those after the first that look at the tensor.
void Simulator::schedule_change(const Change& change) {
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

Outcome Simulator::propose_choice(OpIndex op, int32_t choice, const Interest& interest) {
  trial_.clear();
  const OpModel& changed = model_.ops[op];
  trial_.schedule(changed.stage, model_.end());
  for (const ChoiceModel& how : changed.choices)
    for (const TensorIndex tensor : how.writes) trial_.force(entity_of(tensor), changed.stage, model_.end());
  for (const OpIndex other : policy_.change_choice(op, choice)) trial_.schedule(model_.ops[other].stage, model_.end());
  return proposed_ = run(interest);
}

void Simulator::accept() {
  accepted_.take(trial_.record(), proposed_);
  policy_.keep();
  trial_.clear();
  if (valuation_.clocked() && outcome().sound && trial_.first_stage() <= model_.end())
    clock_.keep(accepted_, trial_.first_stage());
}

void Simulator::reject() {
  policy_.revert();
  trial_.clear();
}

std::vector<Event> Simulator::events() {
  std::vector<Event> log;
  stage_run_.log_to(&log);
  (void)run_all();
  stage_run_.log_to(nullptr);
  trial_.clear();
  return log;
}

Outcome Simulator::run(const Interest& interest) {
  return outcome().sound && model_.uses(Switch::kIncremental) ? run_changed(interest) : run_all();
}

Outcome Simulator::run_all() {
  trial_.start_whole();
  Bytes live = valuation_.first_live();
  for (Stage stage = 0; stage <= model_.end(); ++stage) {
    if (!run_stage(stage, live) || trial_.totals().work > stage_run_.most_work()) return fail();
    live = stage_run_.live();
  }
  return valuation_.outcome(trial_.totals(), time_from(0));
}

// Runs the stages that are scheduled and those that look at what differs; shifts the others.
Outcome Simulator::run_changed(const Interest& interest) {
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

// The makespan of the trial, whose stages before this one are the accepted run's; 0 where time does not matter.
Seconds Simulator::time_from(Stage stage) {
  if (valuation_.clocked()) return clock_.run(accepted_, trial_.record(), stage);
  const StageCost& totals = trial_.totals();
  return valuation_.timed() ? totals.compute + totals.in + totals.out : 0;
}

bool Simulator::run_stage(Stage stage, Bytes live) {
  trial_.begin_stage(stage, live);
  const int64_t most = trial_.record().whole ? stage_run_.most_work() : accepted_.cost(stage).work + kMostGrowth;
  if (!stage_run_.run(stage, live, most)) return false;
  trial_.end_stage(stage_run_.cost(), stage_run_.peak(), stage_run_.live(), valuation_.budget(stage));
  return true;
}

// There is no instruction stream.
Outcome Simulator::fail() {
  stage_run_.recover();
  return {};
}

}  // namespace pantoum::plan
