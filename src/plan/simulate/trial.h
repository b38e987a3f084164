// A neighbour of the accepted run: which stages it has to run, and how everything stands in them.
//
// A stage is run when it is scheduled, or when it looks at an entity that differs from the accepted run or whose policy
// changed. The others are skipped, and their live bytes are shifted.
#pragma once

#include <limits>
#include <vector>

#include "plan/simulate/accepted_run.h"

namespace pantoum::plan {

class Trial {
 public:
  // `timed`: what stages ask of the clock is noted.
  Trial(const Model& model, const AcceptedRun& accepted, bool timed);

  // Forgets the changes and whatever was run.
  void clear();
  // The stage is to be run, if it comes before `end`.
  void schedule(Stage stage, Stage end) {
    if (stage < end) agenda_.push_back(stage);
  }
  // The stages in [from, to] that look at the entity are to be run.
  void force(EntityIndex entity, Stage from, Stage to);

  // Starts a run of all stages, or of those that the changes reach.
  void start_whole();
  void start_changed();
  // After start_changed: the first stage to be run after this one; Model::end() + 1: none.
  Stage next_stage(Stage stage);
  // The stage is run from now on. All figures of its cost but `over` are told in the end.
  void begin_stage(Stage stage, Bytes live);
  void end_stage(const StageCost& cost, Bytes peak, Bytes live, Bytes budget);
  // After end_stage of a stage after start_changed: what differs from the accepted run at its end?
  void compare(Stage stage);
  // The stages [first, last) are not run; they have `delta` more live bytes than in the accepted run.
  void skip(Stage first, Stage last, Bytes delta);

  // The states of all entities in the stage that is run, good until its end. A state is looked up when it is first asked
  // for.
  class States {
   public:
    EntityState& operator[](EntityIndex entity) const {
      const size_t at = base::position_of(entity);
      if (stamps_[at] != visit_) trial_->look_up(entity);
      return states_[at];
    }

   private:
    friend class Trial;
    Trial* trial_ = nullptr;
    EntityState* states_ = nullptr;
    const uint64_t* stamps_ = nullptr;
    uint64_t visit_ = 0;
  };
  States states() {
    States view;
    view.trial_ = this;
    if (!states_.empty()) {  // a step may have ops alone
      view.states_ = &*states_.begin();
      view.stamps_ = &*stamps_.begin();
    }
    view.visit_ = visit_;
    return view;
  }
  // Notes what the stage asks of the clock.
  void note(const Tick& tick) {
    if (timed_) record_.ticks.push_back(tick);
  }

  const TrialRecord& record() const { return record_; }
  // The cost of the whole step as far as it is known.
  const StageCost& totals() const { return record_.totals; }
  // The first stage that is run; Model::end() + 1: none.
  Stage first_stage() const { return first_stage_; }

 private:
  static constexpr Stage kNoStage = std::numeric_limits<Stage>::max();

  struct Watch {  // of an entity
    bool listed = false, differs = false;
    EntityState state;     // where it differs from the accepted run
    Stage next = 0;        // the accepted run's next stage that looks at it
    Stage forced_to = -1;  // its policy changed: stages up to this one that look at it are run
    size_t at = 0;         // in its line: the last moment before this stage
  };

  void look_up(EntityIndex entity);
  void settle(EntityIndex entity, Stage stage, EntityState state);
  EntityState state_before(EntityIndex entity) const;

  const Model& model_;
  const AcceptedRun& accepted_;
  const bool timed_;
  TrialRecord record_;
  std::vector<Stage> agenda_;  // stages to be run, ascending
  size_t agenda_at_ = 0;
  std::vector<EntityIndex> watched_;
  Indexed<EntityIndex, Watch> watches_;
  Indexed<EntityIndex, EntityState> states_;  // valid where stamped with the visit
  Indexed<EntityIndex, uint64_t> stamps_;
  uint64_t visit_ = 0;
  Stage now_ = 0, first_stage_ = 0;
};

}  // namespace pantoum::plan
