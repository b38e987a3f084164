// Small changes of a policy, drawn at random. Thresholds are mostly put where the tensor is looked at: elsewhere they
// make no difference but to the live bytes.
//
//   redraw   an interval is retained, or evicted in a random way
//   pair     two intervals redrawn
//   swap     an interval that is evicted is retained, and another of about the same time is evicted
//   shift    one threshold of an interval that is evicted is moved; where transfers run beside compute, also its page-in
//   lean     an interval is dropped, and what its recomputation reads is retained
#pragma once

#include <functional>
#include <vector>

#include "base/random.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {

using base::Random;

class Neighbours {
 public:
  // `ram`: intervals that no stage over it crosses when everything is retained are drawn seldom.
  Neighbours(const Model& model, Bytes ram);
  // Is there nothing to draw?
  bool empty() const { return intervals_.empty(); }
  // How many intervals there are to draw from.
  int32_t count() const { return static_cast<int32_t>(intervals_.size()); }
  // One neighbour of the simulator's policy. May be the policy itself.
  const std::vector<Simulator::Change>& draw(const Simulator& simulator, Random& random);

  // A large change for a start: an interval that is retained is evicted, or the other way round.
  Simulator::Change turn(const Simulator& simulator, Random& random) { return turned(simulator, any(random), random); }
  // The same of the interval given.
  Simulator::Change turned(const Simulator& simulator, IntervalIndex interval, Random& random);
  // An interval that another policy has otherwise, and those near it that differ too, as they are there. May be empty.
  std::vector<Simulator::Change> follow(const Simulator& simulator, const Policy& guide, Random& random);
  // From now on only intervals are drawn that overlap this one and begin or end within `reach` stages of it, itself not.
  void focus(IntervalIndex interval, int32_t reach);
  // From now on all intervals are drawn.
  void focus_on_all() { focused_.clear(); }
  // What is drawn from; empty: all.
  const std::vector<IntervalIndex>& focused() const { return focused_; }

 private:
  IntervalIndex any(Random& random) const;
  Stage last_stage(IntervalIndex interval) const;
  Stage threshold(const Simulator& simulator, IntervalIndex interval, Stage low, Random& random);
  bool moves_ahead(const Simulator& simulator) const;
  Stage while_inputs_last(IntervalIndex interval, const IntervalPolicy& policy, Random& random) const;
  Stage ahead(IntervalIndex interval, const IntervalPolicy& policy, Random& random) const;
  IntervalPolicy redrawn(const Simulator& simulator, IntervalIndex interval, Random& random);
  IntervalPolicy evicted_somehow(const Simulator& simulator, IntervalIndex interval, Random& random);
  void add(IntervalIndex interval, const IntervalPolicy& to);
  void swap(const Simulator& simulator, Random& random);
  void shift(const Simulator& simulator, Random& random);
  void lean(const Simulator& simulator, Random& random);

  const Model& model_;
  std::vector<IntervalIndex> intervals_;  // by their beginning; those of pressed stages first
  int32_t pressed_ = 0;                   // how many of them
  std::vector<IntervalIndex> focused_;
  std::vector<Simulator::Change> changes_;
  std::vector<Stage> looks_;
};

// The interval's tensor is dropped at its beginning, and those inputs of its op that `keep` wants are in RAM at its use,
// where it is recomputed: each is retained from the last time that it is there on, beyond its own last use if need be. The
// first change is the interval's. The tensor has a producer. Cost: linear in the intervals of the inputs.
std::vector<Simulator::Change> dropped_with_inputs(const Model& model, const Policy& policy, IntervalIndex interval,
                                                   const std::function<bool(TensorIndex)>& keep);

}  // namespace pantoum::plan
