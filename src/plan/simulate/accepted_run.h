// What is remembered of every stage of the accepted policy, so that a neighbour costs only the stages it changes.
#pragma once

#include <algorithm>
#include <vector>

#include "base/quantities.h"
#include "plan/simulate/indices.h"
#include "plan/simulate/outcome.h"
#include "plan/simulate/trial_record.h"

namespace pantoum::plan {

class LiveBytes {
 public:
  // All stages at 0.
  void reset(Stage stages, Bytes budget);
  Bytes operator[](Stage stage) const { return peaks_[stage]; }
  // Replaces what one stage has.
  void set(Stage stage, Bytes peak);
  // Adds delta to the stages [first, last).
  void add(Stage first, Stage last, Bytes delta);
  // How many more bytes were over the budget, summed over [first, last), if delta were added. Cost: blocks, and the
  // stages of those blocks that cross the budget.
  Bytes excess_change(Stage first, Stage last, Bytes delta) const;

 private:
  static constexpr int32_t kBlock = 64;
  Bytes change_within(Stage first, Stage last, Bytes delta) const;
  void refresh(int32_t block);

  Bytes budget_ = 0;
  Stage stages_ = 0;
  Indexed<Stage, Bytes> peaks_;
  Indexed<int32_t, Bytes> highest_, lowest_;  // by block of stages
};

class AcceptedRun {
 public:
  struct Moment {  // the state at the end of a stage that looked at the entity
    Stage stage = 0;
    EntityState state;
  };
  using Line = std::vector<Moment>;  // by stage; the first is the start

  // No run is accepted yet. `timed`: what stages ask of the clock is remembered, too.
  // `reserve`: see Limit.
  AcceptedRun(const Model& model, Bytes budget, bool timed, const Indexed<Stage, Bytes>* reserve);

  // From now on the run is the trial's where the trial ran or shifted stages.
  void take(const TrialRecord& trial, const Outcome& outcome);

  const Outcome& outcome() const { return outcome_; }
  // Of all stages.
  const StageCost& totals() const { return totals_; }
  // Of one.
  const StageCost& cost(Stage stage) const { return costs_[stage]; }
  // The largest sum of live bytes while the stage runs, with those that are kept in reserve.
  Bytes peak(Stage stage) const { return live_[stage]; }
  // By how much that is over the budget.
  Bytes over(Stage stage) const { return std::max<Bytes>(0, live_[stage] - budget_); }
  // Live bytes when the stage begins.
  Bytes begin(Stage stage) const { return live_[stage] - rises_[stage]; }
  // Live bytes at the stage's end, less those at its beginning.
  Bytes net(Stage stage) const { return nets_[stage]; }
  // How many more bytes were over the budget, summed over [first, last), if delta were added to every stage.
  Bytes excess_change(Stage first, Stage last, Bytes delta) const { return live_.excess_change(first, last, delta); }
  // What the stage asks of the clock.
  const std::vector<Tick>& ticks(Stage stage) const { return ticks_[stage]; }

  // The entities that the stage looks at.
  const std::vector<EntityIndex>& looked_at(Stage stage) const { return looked_[stage]; }
  // The stages that look at the entity, with the state at their ends.
  const Line& line(EntityIndex entity) const { return lines_[entity]; }
  // The place in the entity's line of its last moment before the stage.
  size_t moment_before(EntityIndex entity, Stage stage) const {
    const Line& line = lines_[entity];
    size_t low = 0, high = line.size();  // line[low] is before the stage, line[high] is not
    while (high - low > 1) {
      const size_t middle = (low + high) / 2;
      (line[middle].stage < stage ? low : high) = middle;
    }
    return low;
  }
  // Replaces `stages` by those in [from, to) that look at the entity.
  void looks(EntityIndex entity, Stage from, Stage to, std::vector<Stage>& stages) const;

 private:
  void forget();
  void take_visit(const TrialRecord& trial, size_t index);
  void keep_moment(EntityIndex entity, Stage stage, EntityState state);
  void drop_moment(EntityIndex entity, Stage stage);

  const Model& model_;
  const Bytes budget_;
  const bool timed_;
  const Indexed<Stage, Bytes>* const reserve_;
  Indexed<EntityIndex, Line> lines_;
  Indexed<Stage, std::vector<EntityIndex>> looked_;
  Indexed<Stage, StageCost> costs_;
  Indexed<Stage, Bytes> rises_, nets_;  // peak and end of a stage, less its beginning
  Indexed<Stage, std::vector<Tick>> ticks_;
  LiveBytes live_;
  StageCost totals_;
  Outcome outcome_;
  Indexed<EntityIndex, uint64_t> stamps_;  // the last visit taken that looked at the entity
  uint64_t visit_ = 0;
};

}  // namespace pantoum::plan
