// When everything happens: the stages' notes, read one after the other on one engine and the pager's channels.
#include <algorithm>

#include "plan/simulate/simulate.h"

namespace pantoum::plan {
namespace {

constexpr double kLessThanRounding = 1 - 1e-9;  // sums that were kept up to date by adding and subtracting

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

}  // namespace

// No less than this, whatever waits for what.
Seconds Simulator::least_time(const Cost& totals) const {
  if (!model_.async) return kLessThanRounding * (totals.compute + totals.in + totals.out);
  const Seconds moves = model_.full_duplex ? std::max(totals.in, totals.out) : totals.in + totals.out;
  return kLessThanRounding * std::max(totals.compute, moves);
}

// The makespan of the trial, or of the accepted run where there is none. `keep`: replaces the checkpoints.
Seconds Simulator::run_clock(int32_t from, bool keep) {
  int32_t point = from / kCheckpointEvery;
  int32_t at = point * kCheckpointEvery;
  restore(checkpoints_[z(point)]);
  Bytes load = at == 0 ? first_load_ : profile_[at] - rises_[z(at)];
  for (size_t visited = 0; at <= model_.end(); ++at) {
    if (keep && at % kCheckpointEvery == 0) keep_checkpoint(checkpoints_[z(at / kCheckpointEvery)]);
    if (visited < visits_.size() && visits_[visited].stage == at) {
      const Visit& visit = visits_[visited++];
      const size_t end = visited < visits_.size() ? visits_[visited].ticked : trial_ticks_.size();
      for (size_t tick = visit.ticked; tick < end; ++tick) run_tick(trial_ticks_[tick], load);
      load += visit.end - visit.begin;
    } else {
      for (const Tick& tick : ticks_[z(at)]) run_tick(tick, load);
      load += nets_[z(at)];
    }
  }
  return clock_.end;
}

void Simulator::restore(const Checkpoint& checkpoint) {
  clock_ = checkpoint.clock;
  std::fill(ready_.begin(), ready_.end(), 0);
  std::fill(stored_.begin(), stored_.end(), 0);
  moved_.clear();
  for (const Pending& pending : checkpoint.pending) {
    ready_[z(pending.tensor)] = pending.ready;
    stored_[z(pending.tensor)] = pending.stored;
    moved_.push_back(pending.tensor);
  }
}

void Simulator::keep_checkpoint(Checkpoint& checkpoint) {
  checkpoint.clock = clock_;
  checkpoint.pending.clear();
  std::erase_if(moved_, [&](int32_t tensor) {
    if (ready_[z(tensor)] <= clock_.now && stored_[z(tensor)] <= clock_.now) return true;
    checkpoint.pending.push_back({tensor, ready_[z(tensor)], stored_[z(tensor)]});
    return false;
  });
}

void Simulator::run_tick(const Tick& tick, Bytes begin) {
  const int32_t subject = tick.subject;
  const Bytes load = begin + tick.load;
  switch (tick.what) {
    case Do::kCompute: {
      const ChoiceModel& how = model_.ops[z(subject)].choices[z(tick.choice)];
      Seconds start = std::max(clock_.now, wait_for_room(load, tick.size));
      for (const int32_t tensor : how.reads) start = std::max(start, ready_[z(tensor)]);
      clock_.now = start + how.seconds;
      clock_.end = std::max(clock_.end, clock_.now);
      for (const int32_t tensor : how.writes) ready_[z(tensor)] = clock_.now;
      return;
    }
    case Do::kPageIn: {
      const Seconds earliest = std::max(wait_for_room(load, tick.size), stored_[z(subject)]);
      ready_[z(subject)] = channel(subject, false, earliest);
      return;
    }
    case Do::kPageOut:
      stored_[z(subject)] = channel(subject, true, ready_[z(subject)]);
      return;
    case Do::kFree:
      if (!model_.async || stored_[z(subject)] <= clock_.now) return;
      clock_.flights.push_back({stored_[z(subject)], model_.tensors[z(subject)].size});
      clock_.flying += model_.tensors[z(subject)].size;
      return;
  }
}

// When `size` more bytes can be had: writes in flight end in the order of their queue.
Seconds Simulator::wait_for_room(Bytes load, Bytes size) {
  Seconds wait = 0;
  size_t done = 0;
  while (done < clock_.flights.size()) {
    const Flight& flight = clock_.flights[done];
    const bool over = flight.end <= clock_.now;
    if (!over && load + clock_.flying + size <= budget_) break;
    wait = flight.end;
    clock_.flying -= flight.bytes;
    ++done;
  }
  clock_.flights.erase(clock_.flights.begin(), clock_.flights.begin() + static_cast<std::ptrdiff_t>(done));
  return wait;
}

Seconds Simulator::channel(int32_t tensor, bool out, Seconds earliest) {
  const TensorModel& entry = model_.tensors[z(tensor)];
  Seconds& free_from = out && model_.full_duplex ? clock_.out_free : clock_.in_free;
  const Seconds end = std::max({earliest, clock_.now, free_from}) + (out ? entry.out_s : entry.in_s);
  free_from = end;
  clock_.end = std::max(clock_.end, end);
  if (model_.async)
    moved_.push_back(tensor);
  else
    clock_.now = end;
  return end;
}

}  // namespace pantoum::plan
