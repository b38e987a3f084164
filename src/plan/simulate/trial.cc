#include "plan/simulate/trial.h"

#include <algorithm>

namespace pantoum::plan {

Trial::Trial(const Model& model, const AcceptedRun& accepted, bool timed)
    : model_(model), accepted_(accepted), timed_(timed) {
  const size_t entities = count_entities(model);
  watches_.resize(entities);
  states_.resize(entities);
  stamps_.assign(entities, 0);
}

void Trial::clear() {
  for (const EntityIndex entity : watched_) watches_[entity] = {};
  watched_.clear();
  agenda_.clear();
  record_.clear();
}

void Trial::force(EntityIndex entity, Stage from, Stage to) {
  Watch& watch = watches_[entity];
  if (!watch.listed) {
    watch.listed = true;
    watch.next = kNoStage;
    watched_.push_back(entity);
  }
  const AcceptedRun::Line& line = accepted_.line(entity);
  if (const size_t after = accepted_.moment_before(entity, from) + 1; after < line.size())
    watch.next = std::min(watch.next, line[after].stage);
  watch.forced_to = std::max(watch.forced_to, to);
}

void Trial::start_whole() {
  clear();
  record_.whole = true;
  record_.totals = {};
  first_stage_ = 0;
  for (const EntityIndex entity : states_.indices()) states_[entity] = first_state(model_, entity);
}

void Trial::start_changed() {
  record_.totals = accepted_.totals();
  std::sort(agenda_.begin(), agenda_.end());
  agenda_at_ = 0;
  first_stage_ = next_stage(-1);
}

Stage Trial::next_stage(Stage stage) {
  while (agenda_at_ < agenda_.size() && agenda_[agenda_at_] <= stage) ++agenda_at_;
  Stage next = agenda_at_ < agenda_.size() ? agenda_[agenda_at_] : kNoStage;
  for (size_t each = 0; each < watched_.size();) {
    Watch& watch = watches_[watched_[each]];
    if (!watch.differs && watch.next > watch.forced_to) {
      watch = {};
      watched_[each] = watched_.back();
      watched_.pop_back();
      continue;
    }
    next = std::min(next, watch.next);
    ++each;
  }
  return std::min(next, model_.end() + 1);
}

void Trial::begin_stage(Stage stage, Bytes live) {
  ++visit_;
  now_ = stage;
  record_.visits.push_back({.stage = stage,
                            .cost = {},
                            .begin = live,
                            .peak = 0,
                            .touched = record_.touched.size(),
                            .ticked = record_.ticks.size()});
}

void Trial::end_stage(const StageCost& cost, Bytes peak, Bytes live, Bytes budget) {
  TrialRecord::Visit& visit = record_.visits.back();
  for (size_t touch = visit.touched; touch < record_.touched.size(); ++touch)
    record_.touched[touch].state = states_[record_.touched[touch].entity];
  visit.cost = cost;
  visit.cost.over = std::max<Bytes>(0, peak - budget);
  visit.peak = peak;
  visit.end = live;
  if (!record_.whole) {
    record_.totals.add(accepted_.cost(visit.stage), -1);
    record_.totals.over -= accepted_.over(visit.stage);
  }
  record_.totals.over += visit.cost.over;
  record_.totals.add(cost, 1);
}

void Trial::look_up(EntityIndex entity) {
  stamps_[entity] = visit_;
  record_.touched.push_back({entity, {}});
  if (record_.whole) return;  // the states are carried on from stage to stage
  watches_[entity].at = accepted_.moment_before(entity, now_);
  states_[entity] = state_before(entity);
}

EntityState Trial::state_before(EntityIndex entity) const {
  const Watch& watch = watches_[entity];
  return watch.differs ? watch.state : accepted_.line(entity)[watch.at].state;
}

void Trial::compare(Stage stage) {
  for (size_t touch = record_.visits.back().touched; touch < record_.touched.size(); ++touch)
    settle(record_.touched[touch].entity, stage, record_.touched[touch].state);
  for (const EntityIndex entity : accepted_.looked_at(stage)) {
    if (stamps_[entity] == visit_) continue;
    watches_[entity].at = accepted_.moment_before(entity, stage);
    settle(entity, stage, state_before(entity));
  }
}

void Trial::settle(EntityIndex entity, Stage stage, EntityState state) {
  Watch& watch = watches_[entity];
  const AcceptedRun::Line& line = accepted_.line(entity);
  size_t last = watch.at;
  if (last + 1 < line.size() && line[last + 1].stage == stage) ++last;
  watch.differs = state != line[last].state;
  watch.state = state;
  watch.next = last + 1 < line.size() ? line[last + 1].stage : kNoStage;
  if (watch.differs && !watch.listed) {
    watch.listed = true;
    watched_.push_back(entity);
  }
}

void Trial::skip(Stage first, Stage last, Bytes delta) {
  record_.shifts.push_back({first, last, delta});
  record_.totals.over += accepted_.excess_change(first, last, delta);
}

}  // namespace pantoum::plan
