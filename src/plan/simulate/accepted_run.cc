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

void LiveBytes::reset(Stage stages, Bytes budget) {
  budget_ = budget;
  stages_ = stages;
  peaks_.assign(static_cast<size_t>(stages), 0);
  highest_.assign(static_cast<size_t>(stages / kBlock) + 1, 0);
  lowest_.assign(highest_.size(), 0);
}

void LiveBytes::refresh(int32_t block) {
  const int32_t first = block * kBlock, last = std::min(stages_, first + kBlock);
  Bytes high = peaks_[first], low = high;
  for (Stage stage = first + 1; stage < last; ++stage) {
    high = std::max(high, peaks_[stage]);
    low = std::min(low, peaks_[stage]);
  }
  highest_[block] = high;
  lowest_[block] = low;
}

void LiveBytes::set(Stage stage, Bytes peak) {
  if (peaks_[stage] == peak) return;
  peaks_[stage] = peak;
  refresh(stage / kBlock);
}

void LiveBytes::add(Stage first, Stage last, Bytes delta) {
  for (Stage begin = first; begin < last;) {
    const int32_t block = begin / kBlock, end = std::min(last, (block + 1) * kBlock);
    for (Stage stage = begin; stage < end; ++stage) peaks_[stage] += delta;
    refresh(block);
    begin = end;
  }
}

Bytes LiveBytes::change_within(Stage first, Stage last, Bytes delta) const {
  Bytes change = 0;
  for (Stage stage = first; stage < last; ++stage) {
    const Bytes over = peaks_[stage] - budget_;
    change += std::max<Bytes>(0, over + delta) - std::max<Bytes>(0, over);
  }
  return change;
}

Bytes LiveBytes::excess_change(Stage first, Stage last, Bytes delta) const {
  Bytes change = 0;
  for (Stage begin = first; begin < last;) {
    const int32_t block = begin / kBlock, end = std::min(last, (block + 1) * kBlock);
    if (lowest_[block] + std::min<Bytes>(delta, 0) >= budget_)
      change += delta * (end - begin);
    else if (highest_[block] + std::max<Bytes>(delta, 0) > budget_)
      change += change_within(begin, end, delta);
    begin = end;
  }
  return change;
}

}  // namespace pantoum::plan
