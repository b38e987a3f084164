// Which stages a trial runs, and what the accepted run remembers of every stage.
#include <algorithm>
#include <limits>

#include "plan/simulate/simulate.h"

namespace pantoum::plan {
namespace {

constexpr int32_t kNoStage = std::numeric_limits<int32_t>::max();

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

void insert_sorted(std::vector<int32_t>& list, int32_t value) {
  list.insert(std::lower_bound(list.begin(), list.end(), value), value);
}
void erase_sorted(std::vector<int32_t>& list, int32_t value) {
  list.erase(std::lower_bound(list.begin(), list.end(), value));
}

}  // namespace

const Outcome& Simulator::reset(Policy policy) {
  policy_ = std::move(policy);
  undo_.clear();
  undo_op_ = -1;
  needed_ = needed_ops(model_, policy_.choices);
  index_policy();
  trial_outcome_ = run_all();
  accept();
  return outcome_;
}

void Simulator::index_policy() {
  evicted_.assign(z(model_.never()), {});
  fetched_.assign(z(model_.never()), {});
  for (size_t interval = 0; interval < policy_.intervals.size(); ++interval) {
    const IntervalPolicy& how = policy_.intervals[interval];
    if (how.evict < model_.intervals[interval].to) evicted_[z(how.evict)].push_back(static_cast<int32_t>(interval));
    if (how.until < model_.intervals[interval].to) evicted_[z(how.until)].push_back(static_cast<int32_t>(interval));
    if (how.fetch < model_.intervals[interval].to) fetched_[z(how.fetch)].push_back(static_cast<int32_t>(interval));
  }
}

void Simulator::set_interval(int32_t interval, const IntervalPolicy& to) {
  IntervalPolicy& how = policy_.intervals[z(interval)];
  const int32_t use = model_.intervals[z(interval)].to;
  const auto move = [&](std::vector<std::vector<int32_t>>& lists, int32_t before, int32_t after) {
    if (before == after) return;
    if (before < use) erase_sorted(lists[z(before)], interval);
    if (after < use) insert_sorted(lists[z(after)], interval);
  };
  move(evicted_, how.evict, to.evict);
  move(evicted_, how.until, to.until);
  move(fetched_, how.fetch, to.fetch);
  how = to;
}

Outcome Simulator::propose(const std::vector<Change>& changes, const Interest& interest) {
  undo_.clear();
  agenda_.clear();
  for (const Change& change : changes) {
    const IntervalPolicy old = policy_.intervals[z(change.interval)];
    if (old == change.to) continue;
    const Interval& interval = model_.intervals[z(change.interval)];
    int32_t from = std::min(old.retain, change.to.retain);
    const auto shift = [&](int32_t before, int32_t after) {
      from = std::min({from, before, after});
      schedule(before, interval.to);
      schedule(after, interval.to);
    };
    if (old.evict != change.to.evict || old.page != change.to.page) shift(old.evict, change.to.evict);
    if (old.until != change.to.until || old.page != change.to.page) shift(old.until, change.to.until);
    if (old.fetch != change.to.fetch) shift(old.fetch, change.to.fetch);
    force(interval.tensor, from, interval.to);
    undo_.emplace_back(change.interval, old);
    set_interval(change.interval, change.to);
  }
  if (!outcome_.sound || !model_.uses(Switch::kIncremental)) return trial_outcome_ = run_all();
  return trial_outcome_ = undo_.empty() ? keep_trial() : run_changed(interest);
}

// Nothing was changed.
Outcome Simulator::keep_trial() {
  trial_totals_ = totals_;
  clock_from_ = model_.never();
  return outcome_;
}

Outcome Simulator::propose_choice(int32_t op, int32_t choice, const Interest& interest) {
  undo_.clear();
  agenda_.clear();
  undo_op_ = op;
  undo_choice_ = policy_.choices[z(op)];
  policy_.choices[z(op)] = choice;
  const OpModel& changed = model_.ops[z(op)];
  schedule(changed.stage, model_.end());
  for (const ChoiceModel& how : changed.choices)
    for (const int32_t tensor : how.writes) force(tensor, changed.stage, model_.end());
  if (has_optional_) {
    const Indexed<OpIndex, char> before = std::move(needed_);
    needed_ = needed_ops(model_, policy_.choices);
    for (size_t other = 0; other < needed_.size(); ++other)
      if (before[other] != needed_[other]) schedule(model_.ops[other].stage, model_.end());
  }
  return trial_outcome_ = outcome_.sound && model_.uses(Switch::kIncremental) ? run_changed(interest) : run_all();
}

void Simulator::schedule(int32_t stage, int32_t end) {
  if (stage < end) agenda_.push_back(stage);
}

// Stages in [from, to] that look at the entity are run.
void Simulator::force(int32_t entity, int32_t from, int32_t to) {
  Watch& watch = watch_[z(entity)];
  if (!watch.listed) {
    watch.listed = true;
    watch.next = kNoStage;
    watched_.push_back(entity);
  }
  const std::vector<Moment>& line = moments_[z(entity)];
  if (const size_t after = moment_before(entity, from) + 1; after < line.size())
    watch.next = std::min(watch.next, line[after].stage);
  watch.forced_to = std::max(watch.forced_to, to);
}

void Simulator::accept() {
  if (trial_whole_) {
    for (size_t entity = 0; entity < moments_.size(); ++entity)
      moments_[entity].assign(1, {-1, first_word(static_cast<int32_t>(entity))});
    for (std::vector<int32_t>& list : looked_) list.clear();
  }
  for (size_t index = 0; index < visits_.size(); ++index) keep_visit(index);
  for (const Shift& shift : shifts_) profile_.add(shift.first, shift.last, shift.delta);
  totals_ = trial_totals_;
  outcome_ = trial_outcome_;
  undo_.clear();
  undo_op_ = -1;
  forget_trial();
  if (timed_ && outcome_.sound && clock_from_ <= model_.end()) run_clock(clock_from_, true);
}

void Simulator::reject() {
  for (size_t change = undo_.size(); change-- > 0;) set_interval(undo_[change].first, undo_[change].second);
  undo_.clear();
  forget_trial();
  if (undo_op_ < 0) return;
  policy_.choices[z(undo_op_)] = undo_choice_;
  if (has_optional_) needed_ = needed_ops(model_, policy_.choices);
  undo_op_ = -1;
}

void Simulator::forget_trial() {
  for (const int32_t entity : watched_) watch_[z(entity)] = {};
  watched_.clear();
  visits_.clear();
  trial_touched_.clear();
  trial_ticks_.clear();
  shifts_.clear();
  trial_whole_ = false;
}

std::vector<Event> Simulator::events() {
  std::vector<Event> log;
  log_ = &log;
  (void)run_all();
  log_ = nullptr;
  forget_trial();
  return log;
}

Outcome Simulator::run_all() {
  forget_trial();
  trial_whole_ = dense_ = true;
  for (size_t entity = 0; entity < words_.size(); ++entity) words_[entity] = first_word(static_cast<int32_t>(entity));
  clock_from_ = 0;
  trial_totals_ = {};
  Bytes load = first_load_;
  bool sound = true;
  for (int32_t at = 0; at <= model_.end() && sound; ++at) {
    sound = visit(at, load) && trial_totals_.work <= most_work_;
    load = load_;
    trial_totals_.add(cost_, 1);
    trial_totals_.over += cost_.over;
  }
  dense_ = false;
  if (!sound || trial_totals_.work > most_work_) return fail_trial();
  return outcome_of(trial_totals_, timed_ ? run_clock(0, false) : 0);
}

// Runs the stages of the agenda and those that look at what differs; shifts the others.
Outcome Simulator::run_changed(const Interest& interest) {
  trial_totals_ = totals_;
  std::sort(agenda_.begin(), agenda_.end());
  agenda_at_ = 0;
  int32_t next = next_stage(-1);
  if (next > model_.end()) return keep_trial();
  clock_from_ = next;
  Bytes delta = 0;
  for (int32_t at = next; at <= model_.end(); at = next) {
    const Bytes before = profile_[at] - rises_[z(at)];  // the accepted run's load
    if (!visit(at, before + delta) || trial_totals_.work > most_work_) return fail_trial();
    trial_totals_.add(costs_[z(at)], -1);
    trial_totals_.over += cost_.over - std::max<Bytes>(0, profile_[at] - budget_);
    trial_totals_.add(cost_, 1);
    compare(at);
    delta = load_ - before - nets_[z(at)];
    next = std::min(next_stage(at), model_.end() + 1);
    if (delta != 0 && next > at + 1) skip(at + 1, next, delta);
  }
  if (!timed_) return outcome_of(trial_totals_, 0);
  const Outcome least = outcome_of(trial_totals_, least_time(trial_totals_));
  if (model_.uses(Switch::kLeastTime) && interest.price(least) > interest.most) return {};
  return outcome_of(trial_totals_, run_clock(clock_from_, false));
}

Outcome Simulator::fail_trial() {
  std::fill(pins_.begin(), pins_.end(), uint16_t{0});
  return {};
}

// Runs one stage that begins with `begin` bytes in RAM, and notes what it looked at.
bool Simulator::visit(int32_t at, Bytes begin) {
  ++visit_;
  visits_.push_back({.stage = at,
                     .cost = {},
                     .begin = begin,
                     .peak = 0,
                     .touched = trial_touched_.size(),
                     .ticked = trial_ticks_.size()});
  cost_ = {};
  begin_ = load_ = peak_ = begin;
  depth_ = 0;
  now_ = at;
  if (!stage(at)) return false;
  for (size_t touch = visits_.back().touched; touch < trial_touched_.size(); ++touch)
    trial_touched_[touch].word = words_[z(trial_touched_[touch].entity)];
  cost_.over = std::max<Bytes>(0, peak_ - budget_);
  visits_.back().cost = cost_;
  visits_.back().peak = peak_;
  visits_.back().end = load_;
  return true;
}

void Simulator::look_up(int32_t entity) {
  stamp_[z(entity)] = visit_;
  trial_touched_.push_back({entity, 0});
  if (dense_) return;
  Watch& watch = watch_[z(entity)];
  watch.at = moment_before(entity, now_);
  words_[z(entity)] = watch.differs ? watch.word : moments_[z(entity)][watch.at].word;
}

// After a stage: what differs from the accepted run at its end?
void Simulator::compare(int32_t at) {
  for (size_t touch = visits_.back().touched; touch < trial_touched_.size(); ++touch)
    settle(trial_touched_[touch].entity, at, trial_touched_[touch].word);
  for (const int32_t entity : looked_[z(at)]) {
    if (stamp_[z(entity)] == visit_) continue;
    Watch& watch = watch_[z(entity)];
    watch.at = moment_before(entity, at);
    settle(entity, at, watch.differs ? watch.word : moments_[z(entity)][watch.at].word);
  }
}

void Simulator::settle(int32_t entity, int32_t at, Word word) {
  Watch& watch = watch_[z(entity)];
  const std::vector<Moment>& line = moments_[z(entity)];
  size_t last = watch.at;
  if (last + 1 < line.size() && line[last + 1].stage == at) ++last;
  watch.differs = word != line[last].word;
  watch.word = word;
  watch.next = last + 1 < line.size() ? line[last + 1].stage : kNoStage;
  if (watch.differs && !watch.listed) {
    watch.listed = true;
    watched_.push_back(entity);
  }
}

int32_t Simulator::next_stage(int32_t at) {
  while (agenda_at_ < agenda_.size() && agenda_[agenda_at_] <= at) ++agenda_at_;
  int32_t next = agenda_at_ < agenda_.size() ? agenda_[agenda_at_] : kNoStage;
  for (size_t each = 0; each < watched_.size();) {
    Watch& watch = watch_[z(watched_[each])];
    if (!watch.differs && watch.next > watch.forced_to) {
      watch = {};
      watched_[each] = watched_.back();
      watched_.pop_back();
      continue;
    }
    next = std::min(next, watch.next);
    ++each;
  }
  return next;
}

void Simulator::skip(int32_t first, int32_t last, Bytes delta) {
  shifts_.push_back({first, last, delta});
  trial_totals_.over += profile_.excess_change(first, last, delta);
}

void Simulator::keep_visit(size_t index) {
  const Visit& visit = visits_[index];
  const size_t stage = z(visit.stage);
  const size_t end = index + 1 < visits_.size() ? visits_[index + 1].touched : trial_touched_.size();
  ++visit_;
  for (size_t touch = visit.touched; touch < end; ++touch) {
    const Touch& touched = trial_touched_[touch];
    stamp_[z(touched.entity)] = visit_;
    keep_moment(touched.entity, visit.stage, touched.word);
  }
  std::vector<int32_t>& list = looked_[stage];
  for (const int32_t entity : list)
    if (stamp_[z(entity)] != visit_) drop_moment(entity, visit.stage);
  list.clear();
  for (size_t touch = visit.touched; touch < end; ++touch) list.push_back(trial_touched_[touch].entity);
  costs_[stage] = visit.cost;
  rises_[stage] = visit.peak - visit.begin;
  nets_[stage] = visit.end - visit.begin;
  profile_.set(visit.stage, visit.peak);
  if (!timed_) return;
  const auto first = trial_ticks_.begin() + static_cast<std::ptrdiff_t>(visit.ticked);
  const bool last = index + 1 == visits_.size();
  ticks_[stage].assign(
      first, last ? trial_ticks_.end() : trial_ticks_.begin() + static_cast<std::ptrdiff_t>(visits_[index + 1].ticked));
}

void Simulator::keep_moment(int32_t entity, int32_t stage, Word word) {
  std::vector<Moment>& line = moments_[z(entity)];
  const size_t after = moment_before(entity, stage) + 1;
  if (after < line.size() && line[after].stage == stage)
    line[after].word = word;
  else
    line.insert(line.begin() + static_cast<std::ptrdiff_t>(after), {stage, word});
}

void Simulator::drop_moment(int32_t entity, int32_t stage) {
  std::vector<Moment>& line = moments_[z(entity)];
  line.erase(line.begin() + static_cast<std::ptrdiff_t>(moment_before(entity, stage) + 1));
}

void Simulator::looks(int32_t tensor, int32_t from, int32_t to, std::vector<int32_t>& stages) const {
  stages.clear();
  const std::vector<Moment>& line = moments_[z(tensor)];
  for (size_t at = moment_before(tensor, from) + 1; at < line.size() && line[at].stage < to; ++at)
    stages.push_back(line[at].stage);
}

// The last moment of the entity before the stage.
size_t Simulator::moment_before(int32_t entity, int32_t stage) const {
  const std::vector<Moment>& line = moments_[z(entity)];
  size_t low = 0, high = line.size();  // line[low] is before the stage, line[high] is not
  while (high - low > 1) {
    const size_t middle = (low + high) / 2;
    (line[middle].stage < stage ? low : high) = middle;
  }
  return low;
}

}  // namespace pantoum::plan
