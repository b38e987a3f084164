#include "plan/simulate/accepted_run.h"

namespace pantoum::plan {

AcceptedRun::AcceptedRun(const Model& model, Bytes budget, bool timed, const Indexed<Stage, Bytes>* reserve)
    : model_(model), budget_(budget), timed_(timed), reserve_(reserve) {
  const size_t stages = static_cast<size_t>(model.end()) + 1, entities = count_entities(model);
  lines_.resize(entities);
  looked_.resize(stages);
  costs_.resize(stages);
  rises_.assign(stages, 0);
  nets_.assign(stages, 0);
  live_.reset(static_cast<Stage>(stages), budget);
  if (timed) ticks_.resize(stages);
  stamps_.assign(entities, 0);
}

void AcceptedRun::take(const TrialRecord& trial, const Outcome& outcome) {
  if (trial.whole) forget();
  for (size_t index = 0; index < trial.visits.size(); ++index) take_visit(trial, index);
  for (const TrialRecord::Shift& shift : trial.shifts) live_.add(shift.first, shift.last, shift.delta);
  totals_ = trial.totals;
  outcome_ = outcome;
}

void AcceptedRun::forget() {
  for (const EntityIndex entity : lines_.indices()) lines_[entity].assign(1, {-1, first_state(model_, entity)});
  for (std::vector<EntityIndex>& list : looked_) list.clear();
}

void AcceptedRun::take_visit(const TrialRecord& trial, size_t index) {
  const TrialRecord::Visit& visit = trial.visits[index];
  const Stage stage = visit.stage;
  const auto touches = trial.touches_of(index);
  ++visit_;
  for (const TrialRecord::Touch& touch : touches) {
    stamps_[touch.entity] = visit_;
    keep_moment(touch.entity, stage, touch.state);
  }
  std::vector<EntityIndex>& list = looked_[stage];
  for (const EntityIndex entity : list)
    if (stamps_[entity] != visit_) drop_moment(entity, stage);
  list.clear();
  for (const TrialRecord::Touch& touch : touches) list.push_back(touch.entity);
  costs_[stage] = visit.cost;
  const Bytes peak = visit.peak + (reserve_ != nullptr ? (*reserve_)[stage] : 0);
  rises_[stage] = peak - visit.begin;
  nets_[stage] = visit.end - visit.begin;
  live_.set(stage, peak);
  if (!timed_) return;
  const auto ticks = trial.ticks_of(index);
  ticks_[stage].assign(ticks.begin(), ticks.end());
}

void AcceptedRun::keep_moment(EntityIndex entity, Stage stage, EntityState state) {
  Line& line = lines_[entity];
  const size_t after = moment_before(entity, stage) + 1;
  if (after < line.size() && line[after].stage == stage)
    line[after].state = state;
  else
    line.insert(line.begin() + static_cast<std::ptrdiff_t>(after), {stage, state});
}

void AcceptedRun::drop_moment(EntityIndex entity, Stage stage) {
  Line& line = lines_[entity];
  line.erase(line.begin() + static_cast<std::ptrdiff_t>(moment_before(entity, stage) + 1));
}

void AcceptedRun::looks(EntityIndex entity, Stage from, Stage to, std::vector<Stage>& stages) const {
  stages.clear();
  const Line& line = lines_[entity];
  for (size_t at = moment_before(entity, from) + 1; at < line.size() && line[at].stage < to; ++at)
    stages.push_back(line[at].stage);
}

}  // namespace pantoum::plan
