// The instructions of one stage of a trial: what they are, cost, and take of RAM.
//
// The stream of a stage:  page_in or recompute what is fetched ahead | recompute the inputs that were dropped | page_in the
// others | evict, by freeing and page_out, what the policy does not retain and the op does not read | compute | evict the
// rest.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/simulate/event.h"
#include "plan/simulate/scheduled_policy.h"
#include "plan/simulate/trial.h"
#include "plan/simulate/valuation.h"

namespace pantoum::plan {

class StageRun {
 public:
  // What it runs is read from the policy; what it looks at and asks of the clock is noted in the trial.
  StageRun(const Model& model, const Valuation& valuation, const ScheduledPolicy& policy, Trial& trial);

  // Runs the stage from this many live bytes on. False: there is no such stream, or it has more recomputations than
  // `most_work`.
  bool run(Stage stage, Bytes live, int64_t most_work);
  // Live bytes at its end, and the most while it ran.
  Bytes live() const { return live_; }
  Bytes peak() const { return peak_; }
  const StageCost& cost() const { return cost_; }
  // Recomputations beyond these are too many for a step.
  int64_t most_work() const { return most_work_; }
  // After a stage without a stream: the next one may be run.
  void recover();
  // From now on the stream is written there; nullptr: nowhere.
  void log_to(std::vector<Event>* log) { log_ = log; }

 private:
  bool finish();
  bool finish_in_storage(TensorIndex tensor);
  Bytes homes_missed();
  bool fetch();
  bool first_computation(OpIndex op);
  void evictions();
  bool require(const std::vector<TensorIndex>& reads);
  bool rather_recompute(TensorIndex tensor);
  bool can_recompute(TensorIndex tensor, int32_t& steps);
  bool may_compute(OpIndex op);
  bool recompute(TensorIndex tensor);
  bool compute(OpIndex op, int32_t choice, bool first);
  Bytes place_outputs(const ChoiceModel& how, bool first);
  void take_over(TensorIndex tensor, TensorIndex source);
  bool dies(TensorIndex tensor, bool first);
  void settle_outputs(const ChoiceModel& how, bool first);
  bool page_in(TensorIndex tensor);
  void page_out(TensorIndex tensor);
  void release(TensorIndex tensor);
  void release_unless_retained(TensorIndex tensor);
  void begin_allocation(TensorIndex tensor);
  bool retains(TensorIndex tensor) const;
  IntervalIndex interval_before(TensorIndex tensor) const;
  TensorIndex home_of(TensorIndex tensor) const;
  int32_t maker_choice(OpIndex op, TensorIndex tensor) const;

  EntityState& state(TensorIndex tensor) { return states_[entity_of(tensor)]; }
  EntityState& state(OpIndex op) { return states_[entity_of(model_, op)]; }
  bool in_ram(TensorIndex tensor) { return state(tensor).has(EntityState::kInRam); }
  bool in_storage(TensorIndex tensor) { return state(tensor).has(EntityState::kInStorage); }
  void raise_peak(Bytes live) {
    if (live > peak_) peak_ = live;
  }
  void tick(Tick::What what, int32_t subject, int32_t choice, Bytes size) {
    trial_.note({what, subject, choice, live_ - begin_, size});
  }
  void log(Do what, TensorIndex tensor) {
    if (log_) log_->push_back({.what = what, .subject = tensor.value(), .taken_over = {}});
  }

  const Model& model_;
  const ScheduledPolicy& policy_;
  Trial& trial_;
  Trial::States states_;  // of the stage
  const Prices prices_;
  const int64_t most_work_;
  int64_t stage_work_ = 0;                           // recomputations that the stage may have
  std::vector<TensorIndex> finals_, stored_finals_;  // tensors that end in RAM, in storage
  Indexed<TensorIndex, uint16_t> pins_;              // how many computes at hand read it
  StageCost cost_;
  Bytes begin_ = 0, live_ = 0, peak_ = 0;
  Stage now_ = 0;
  int32_t depth_ = 0;  // of recomputations for recomputations
  std::vector<Event>* log_ = nullptr;
};

}  // namespace pantoum::plan
