// When everything happens: what the stages ask of the clock, one after the other, on one engine and the pager's channels.
//
// Bytes that are being written out are waited for only when RAM is full otherwise: offsets are not known here.
#pragma once

#include <optional>
#include <vector>

#include "plan/simulate/accepted_run.h"

namespace pantoum::plan {

class Clock {
 public:
  // `first_live`: live bytes before the step. `timed`: it will be run.
  Clock(const Model& model, Bytes budget, Bytes first_live, bool timed);

  // The makespan of a step: the accepted run's stages, but for those that the trial ran. From `from` on they may differ
  // from those of the last run that kept. Where everything is as it was then, sooner or later, stages that the trial did
  // not change take as long as then, and are not run.
  Seconds run(const AcceptedRun& accepted, const TrialRecord& trial, Stage from);
  // The same for the accepted run, whose course is remembered: the next run may start later than at the beginning.
  void keep(const AcceptedRun& accepted, Stage from);
  // The makespan is no less than this, whatever waits for what.
  Seconds least_time(const StageCost& totals) const;

 private:
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

  void restore(const Checkpoint& checkpoint, Seconds shift);
  void keep(Checkpoint& checkpoint);
  void run(const Tick& tick, Bytes begin);
  void compute(const Tick& tick, Bytes live);
  void free(TensorIndex tensor);
  Seconds wait_for_room(Bytes live, Bytes size);
  Seconds transfer(TensorIndex tensor, bool out, Seconds earliest);
  static bool is_as_accepted(const AcceptedRun& accepted, const TrialRecord& trial, size_t visit);
  bool goes_on_as(const Checkpoint& then);
  std::optional<Seconds> go_on_as_accepted(Stage& stage, Stage next);
  Stage begin_at(Stage stage);

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
