#include "plan/simulate/clock.h"

#include <algorithm>

namespace pantoum::plan {
namespace {

constexpr double kLessThanRounding = 1 - 1e-9;  // sums that were kept up to date by adding and subtracting

}  // namespace

Clock::Clock(const Model& model, Bytes budget, Bytes first_live, bool timed)
    : model_(model), budget_(budget), first_live_(first_live) {
  if (!timed) return;
  checkpoints_.resize(static_cast<size_t>((model.end() + 1) / kCheckpointEvery) + 1);
  ready_.resize(model.tensors.size());
  stored_.resize(model.tensors.size());
}

Seconds Clock::least_time(const StageCost& totals) const {
  if (!model_.async) return kLessThanRounding * (totals.compute + totals.in + totals.out);
  const Seconds moves = model_.full_duplex ? std::max(totals.in, totals.out) : totals.in + totals.out;
  return kLessThanRounding * std::max(totals.compute, moves);
}

template <class BeforeStage>
void Clock::run_stages(const AcceptedRun& accepted, const TrialRecord& trial, Stage from, BeforeStage before) {
  Stage stage = from / kCheckpointEvery * kCheckpointEvery;
  restore(checkpoints_[static_cast<size_t>(from / kCheckpointEvery)]);
  Bytes live = stage == 0 ? first_live_ : accepted.begin(stage);
  for (size_t visit = 0; stage <= model_.end(); ++stage) {
    before(stage);
    if (visit < trial.visits.size() && trial.visits[visit].stage == stage) {
      for (const Tick& tick : trial.ticks_of(visit)) run(tick, live);
      live += trial.visits[visit].end - trial.visits[visit].begin;
      ++visit;
    } else {
      for (const Tick& tick : accepted.ticks(stage)) run(tick, live);
      live += accepted.net(stage);
    }
  }
}

Seconds Clock::run(const AcceptedRun& accepted, const TrialRecord& trial, Stage from) {
  run_stages(accepted, trial, from, [](Stage) {});
  return state_.end;
}

void Clock::keep(const AcceptedRun& accepted, Stage from) {
  run_stages(accepted, {}, from, [&](Stage stage) {
    if (stage % kCheckpointEvery == 0) keep(checkpoints_[static_cast<size_t>(stage / kCheckpointEvery)]);
  });
}

void Clock::restore(const Checkpoint& checkpoint) {
  state_ = checkpoint.state;
  std::fill(ready_.begin(), ready_.end(), 0);
  std::fill(stored_.begin(), stored_.end(), 0);
  moved_.clear();
  for (const Pending& pending : checkpoint.pending) {
    ready_[pending.tensor] = pending.ready;
    stored_[pending.tensor] = pending.stored;
    moved_.push_back(pending.tensor);
  }
}

void Clock::keep(Checkpoint& checkpoint) {
  checkpoint.state = state_;
  checkpoint.pending.clear();
  std::erase_if(moved_, [&](TensorIndex tensor) {
    if (ready_[tensor] <= state_.now && stored_[tensor] <= state_.now) return true;
    checkpoint.pending.push_back({tensor, ready_[tensor], stored_[tensor]});
    return false;
  });
}

void Clock::run(const Tick& tick, Bytes begin) {
  const Bytes live = begin + tick.live;
  const TensorIndex tensor(tick.subject);  // but of a compute
  switch (tick.what) {
    case Tick::kCompute:
      compute(tick, live);
      return;
    case Tick::kOverwrite:
      overwritable_ = std::max(overwritable_, stored_[tensor]);
      return;
    case Tick::kPageIn: {
      const Seconds earliest = std::max(wait_for_room(live, tick.size), stored_[tensor]);
      ready_[tensor] = transfer(tensor, false, earliest);
      return;
    }
    case Tick::kPageOut:
      stored_[tensor] = transfer(tensor, true, ready_[tensor]);
      return;
    case Tick::kFree:
      free(tensor);
      return;
  }
}

void Clock::compute(const Tick& tick, Bytes live) {
  const ChoiceModel& how = model_.ops[OpIndex(tick.subject)].choices[static_cast<size_t>(tick.choice)];
  Seconds start = std::max({state_.now, wait_for_room(live, tick.size), overwritable_});
  overwritable_ = 0;
  for (const TensorIndex tensor : how.reads) start = std::max(start, ready_[tensor]);
  state_.now = start + how.seconds;
  state_.end = std::max(state_.end, state_.now);
  for (const TensorIndex tensor : how.writes) ready_[tensor] = state_.now;
}

void Clock::free(TensorIndex tensor) {
  if (!model_.async || stored_[tensor] <= state_.now) return;
  state_.flights.push_back({stored_[tensor], model_.tensors[tensor].size});
  state_.flying += model_.tensors[tensor].size;
}

// When `size` more bytes can be had: writes in flight end in the order of their queue.
Seconds Clock::wait_for_room(Bytes live, Bytes size) {
  Seconds wait = 0;
  size_t done = 0;
  while (done < state_.flights.size()) {
    const Flight& flight = state_.flights[done];
    const bool over = flight.end <= state_.now;
    if (!over && live + state_.flying + size <= budget_) break;
    wait = flight.end;
    state_.flying -= flight.bytes;
    ++done;
  }
  state_.flights.erase(state_.flights.begin(), state_.flights.begin() + static_cast<std::ptrdiff_t>(done));
  return wait;
}

// The end of a transfer that is issued now.
Seconds Clock::transfer(TensorIndex tensor, bool out, Seconds earliest) {
  const TensorModel& entry = model_.tensors[tensor];
  Seconds& free_from = out && model_.full_duplex ? state_.out_free : state_.in_free;
  const Seconds end = std::max({earliest, state_.now, free_from}) + (out ? entry.out_s : entry.in_s);
  free_from = end;
  state_.end = std::max(state_.end, end);
  if (model_.async)
    moved_.push_back(tensor);
  else
    state_.now = end;
  return end;
}

}  // namespace pantoum::plan
