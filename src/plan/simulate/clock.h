// When everything happens: what the stages ask of the clock, one after the other, on one engine and the pager's channels.
//
// Bytes that are being written out are waited for only when RAM is full otherwise: offsets are not known here.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>
#include <span>
#include <vector>

#include "plan/simulate/trial.h"

namespace pantoum::plan {

class Clock {
 public:
  // `first_live`: live bytes before the step. `timed`: it will be run.
  Clock(const Model& model, Bytes budget, Bytes first_live, bool timed)
      : model_(model), budget_(budget), first_live_(first_live) {
    if (!timed) return;
    checkpoints_.resize(position_of((model.end() + 1) / kCheckpointEvery) + 1);
    ready_.resize(model.tensors.size());
    stored_.resize(model.tensors.size());
    seen_.resize(model.tensors.size());
  }

  // The makespan of a step: the accepted run's stages, but for those that the trial ran. From `from` on they may differ
  // from those of the last run that kept. Where everything is as it was then, sooner or later, stages that the trial did
  // not change take as long as then, and are not run.
  Seconds run(const AcceptedRun& accepted, const TrialRecord& trial, Stage from) {
    Stage stage = begin_at(from);
    Bytes live = stage == 0 ? first_live_ : accepted.begin(stage);
    size_t visit = 0;
    for (; stage <= model_.end(); ++stage) {
      const bool differs = visit < trial.visits.size() && trial.visits[visit].stage == stage;
      if (!differs && stage > from && stage % kCheckpointEvery == 0 && live == accepted.begin(stage)) {
        while (visit < trial.visits.size() && is_as_accepted(accepted, trial, visit)) ++visit;
        const Stage next = visit < trial.visits.size() ? trial.visits[visit].stage : model_.never();
        if (const std::optional<Seconds> end = go_on_as_accepted(stage, next)) return *end;
        live = accepted.begin(stage);
      }
      if (visit < trial.visits.size() && trial.visits[visit].stage == stage) {
        for (const Tick& tick : trial.ticks_of(visit)) run(tick, live);
        live += trial.visits[visit].end - trial.visits[visit].begin;
        ++visit;
      } else {
        for (const Tick& tick : accepted.ticks(stage)) run(tick, live);
        live += accepted.net(stage);
      }
    }
    return state_.end;
  }

  // Runs the accepted run and remembers its course, so that the next run may start later than at the beginning.
  void keep(const AcceptedRun& accepted, Stage from) {
    Stage stage = begin_at(from);
    Bytes live = stage == 0 ? first_live_ : accepted.begin(stage);
    for (; stage <= model_.end(); ++stage) {
      if (stage % kCheckpointEvery == 0) keep(checkpoints_[position_of(stage / kCheckpointEvery)]);
      for (const Tick& tick : accepted.ticks(stage)) run(tick, live);
      live += accepted.net(stage);
    }
    end_ = state_.end;
  }

  // The makespan is no less than this, whatever waits for what.
  Seconds least_time(const StageCost& totals) const {
    if (!model_.async) return kLessThanRounding * (totals.compute + totals.in + totals.out);
    const Seconds moves = model_.full_duplex ? std::max(totals.in, totals.out) : totals.in + totals.out;
    return kLessThanRounding * std::max(totals.compute, moves);
  }

 private:
  static constexpr double kLessThanRounding = 1 - 1e-9;  // sums that were kept up to date by adding and subtracting
  static constexpr double kRounding = 1e-12;             // of times that were added in another order, a part of them

  static constexpr Stage kCheckpointEvery = 16;

  struct Flight {  // of freed bytes that are still being written
    Seconds end = 0;
    Bytes bytes = 0;
  };
  struct State {
    Seconds now = 0, in_free = 0, out_free = 0, end = 0;
    Bytes flying = 0;             // the sum of `flights`
    std::vector<Flight> flights;  // as they were freed
  };
  struct Pending {  // a tensor's transfers that may end after `now`
    TensorIndex tensor;
    Seconds ready = 0, stored = 0;
  };
  struct Checkpoint {
    State state;
    std::vector<Pending> pending;
  };

  // Everything as it was then, so much later.
  void restore(const Checkpoint& checkpoint, Seconds shift) {
    state_ = checkpoint.state;
    for (Seconds* time : {&state_.now, &state_.in_free, &state_.out_free, &state_.end}) *time += shift;
    for (Flight& flight : state_.flights) flight.end += shift;
    std::fill(ready_.begin(), ready_.end(), 0);
    std::fill(stored_.begin(), stored_.end(), 0);
    moved_.clear();
    for (const Pending& pending : checkpoint.pending) {
      ready_[pending.tensor] = pending.ready + shift;
      stored_[pending.tensor] = pending.stored + shift;
      moved_.push_back(pending.tensor);
    }
  }

  void keep(Checkpoint& checkpoint) {
    checkpoint.state = state_;
    checkpoint.pending.clear();
    std::erase_if(moved_, [&](TensorIndex tensor) {
      if (ready_[tensor] <= state_.now && stored_[tensor] <= state_.now) return true;
      checkpoint.pending.push_back({tensor, ready_[tensor], stored_[tensor]});
      return false;
    });
  }

  void run(const Tick& tick, Bytes begin) {
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

  void compute(const Tick& tick, Bytes live) {
    const ChoiceModel& how = model_.chosen(OpIndex(tick.subject), tick.choice);
    Seconds start = std::max({state_.now, wait_for_room(live, tick.size), overwritable_});
    overwritable_ = 0;
    for (const TensorIndex tensor : how.reads) start = std::max(start, ready_[tensor]);
    state_.now = start + how.seconds;
    state_.end = std::max(state_.end, state_.now);
    for (const TensorIndex tensor : how.writes) ready_[tensor] = state_.now;
  }

  void free(TensorIndex tensor) {
    if (!model_.async || stored_[tensor] <= state_.now) return;
    state_.flights.push_back({stored_[tensor], model_.tensors[tensor].size});
    state_.flying += model_.tensors[tensor].size;
  }

  // When `size` more bytes can be had: writes in flight end in the order of their queue.
  Seconds wait_for_room(Bytes live, Bytes size) {
    Seconds wait = 0;
    size_t done = 0;
    while (done < state_.flights.size()) {
      const Flight& flight = state_.flights[done];
      const bool over = flight.end <= state_.now;
      if (!over && live + state_.flying + size <= budget_) break;
      wait = std::max(wait, flight.end);
      state_.flying -= flight.bytes;
      ++done;
    }
    state_.flights.erase(state_.flights.begin(), state_.flights.begin() + static_cast<std::ptrdiff_t>(done));
    return wait;
  }

  // The end of a transfer that is issued now.
  Seconds transfer(TensorIndex tensor, bool out, Seconds earliest) {
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

  // Does the stage ask of the clock what it asked in the accepted run?
  static bool is_as_accepted(const AcceptedRun& accepted, const TrialRecord& trial, size_t visit) {
    const TrialRecord::Visit& made = trial.visits[visit];
    return made.end - made.begin == accepted.net(made.stage) &&
           std::ranges::equal(trial.ticks_of(visit), accepted.ticks(made.stage));
  }

  // Is everything as it was then, but for the time on the clock? What has ended by now is of no account.
  bool goes_on_as(const Checkpoint& then) {
    const Seconds now = state_.now, rounding = kRounding * now;
    const auto same = [&](Seconds time, Seconds other) {
      const Seconds left = std::max(0.0, time - now), other_left = std::max(0.0, other - then.state.now);
      return std::abs(left - other_left) <= rounding;
    };
    if (!same(state_.in_free, then.state.in_free) || !same(state_.out_free, then.state.out_free)) return false;
    const auto in_flight = [](const State& state) {
      const auto first =
          std::ranges::find_if(state.flights, [&](const Flight& flight) { return flight.end > state.now; });
      return std::span(first, state.flights.end());
    };
    const std::span<const Flight> flights = in_flight(state_), others = in_flight(then.state);
    if (flights.size() != others.size()) return false;
    for (size_t flight = 0; flight < flights.size(); ++flight)
      if (flights[flight].bytes != others[flight].bytes || !same(flights[flight].end, others[flight].end)) return false;
    ++comparison_;
    for (const Pending& pending : then.pending) {
      if (!same(ready_[pending.tensor], pending.ready) || !same(stored_[pending.tensor], pending.stored)) return false;
      seen_[pending.tensor] = comparison_;
    }
    return std::ranges::all_of(moved_, [&](TensorIndex tensor) {
      return seen_[tensor] == comparison_ || (ready_[tensor] <= now + rounding && stored_[tensor] <= now + rounding);
    });
  }

  // Goes on from a stage with a checkpoint to the last checkpoint before `next`, where the trial leaves the accepted
  // run again, if everything is as it was in the accepted run. Returns the makespan if the trial does not leave it
  // again.
  std::optional<Seconds> go_on_as_accepted(Stage& stage, Stage next) {
    const Checkpoint& then = checkpoints_[position_of(stage / kCheckpointEvery)];
    const Stage to = next / kCheckpointEvery * kCheckpointEvery;
    if (to <= stage || !goes_on_as(then)) return std::nullopt;
    const Seconds shift = state_.now - then.state.now;
    const bool never = next == model_.never();
    const Checkpoint& later = never ? then : checkpoints_[position_of(to / kCheckpointEvery)];
    const Seconds end = never ? end_ : later.state.end;
    if (end <= then.state.end && state_.end < end + shift) return std::nullopt;  // which it was before
    const Seconds latest = end > then.state.end ? std::max(state_.end, end + shift) : state_.end;
    if (never) return latest;
    restore(later, shift);
    state_.end = latest;
    stage = to;
    return std::nullopt;
  }

  // The last stage up to this one that has a checkpoint, with everything as it was then.
  Stage begin_at(Stage stage) {
    restore(checkpoints_[position_of(stage / kCheckpointEvery)], 0);
    return stage / kCheckpointEvery * kCheckpointEvery;
  }

  const Model& model_;
  const Bytes budget_, first_live_;
  State state_;
  Seconds overwritable_ = 0;                      // when the bytes may be had that the next compute writes over
  Indexed<TensorIndex, Seconds> ready_, stored_;  // ends of page_in or compute, and of page_out: of any meaning only
                                                  // where later than state_.now
  std::vector<TensorIndex> moved_;                // of transfers that may be so
  std::vector<Checkpoint> checkpoints_;           // before every few stages of the accepted run
  Seconds end_ = 0;                               // of the accepted run
  Indexed<TensorIndex, uint64_t> seen_;           // the last comparison that met it
  uint64_t comparison_ = 0;
};

}  // namespace pantoum::plan
