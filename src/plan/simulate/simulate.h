// The exact consequences of a policy: which instructions it gives, what they cost, and what RAM they take.
//
// A stage's instructions are run by StageRun. The accepted run knows which stages looked at which tensor, so a trial of
// a neighbour skips a stage when nothing that differs was looked at there; its live bytes are shifted. Where time
// matters, what every stage asks of the clock is noted, and from the first change on the notes are read again, but for
// stages that go on as before.
#pragma once

#include <vector>

#include "plan/simulate/accepted_run.h"
#include "plan/simulate/clock.h"
#include "plan/simulate/event.h"
#include "plan/simulate/scheduled_policy.h"
#include "plan/simulate/stage_run.h"
#include "plan/simulate/trial.h"
#include "plan/simulate/valuation.h"

namespace pantoum::plan {

// Simulates one policy and its neighbours. A neighbour costs the stages whose course it changes.
class Simulator {
 public:
  // The model is referred to. No policy is simulated yet.
  Simulator(const Model& model, const Limit& limit);
  Simulator(const Simulator&) = delete;
  Simulator& operator=(const Simulator&) = delete;

  // Replaces the policy; simulates all of it.
  const Outcome& reset(Policy policy);
  // The accepted policy; between a proposal and its accept() or reject(), the proposed one.
  const Policy& policy() const { return policy_.policy(); }
  // Of the accepted policy.
  const Outcome& outcome() const { return accepted_.outcome(); }

  struct Change {
    IntervalIndex interval;
    IntervalPolicy to;
  };
  // What `changes` would give (one per interval). Followed by accept() or reject().
  Outcome propose(const std::vector<Change>& changes, const Interest& interest = {});
  // What another choice of the op would give. Followed by accept() or reject().
  Outcome propose_choice(OpIndex op, int32_t choice, const Interest& interest = {});
  // Makes what was proposed the accepted policy.
  void accept();
  // Forgets what was proposed.
  void reject();

  // By stage: the largest sum of live bytes while it runs, under the accepted policy.
  Bytes peak(Stage stage) const { return accepted_.peak(stage); }
  // The stages in [from, to) at which the accepted run looks at the tensor.
  void looks(TensorIndex tensor, Stage from, Stage to, std::vector<Stage>& stages) const {
    accepted_.looks(entity_of(tensor), from, to, stages);
  }
  // The instruction stream of the accepted policy.
  std::vector<Event> events();
  // Does time matter, so that outcomes tell it?
  bool times() const { return valuation_.timed(); }
  // Is the makespan more than a sum: may a transfer run beside a compute?
  bool clocked() const { return valuation_.clocked(); }
  const Limit& limit() const { return valuation_.limit(); }

 private:
  void schedule_change(const Change& change);
  Outcome run(const Interest& interest);
  Outcome run_all();
  Outcome run_changed(const Interest& interest);
  bool run_stage(Stage stage, Bytes live);
  Seconds time_from(Stage stage);
  Outcome fail();

  const Model& model_;
  const Valuation valuation_;
  ScheduledPolicy policy_;
  AcceptedRun accepted_;
  Trial trial_;
  StageRun stage_run_;
  Clock clock_;
  Outcome proposed_;
};

}  // namespace pantoum::plan
