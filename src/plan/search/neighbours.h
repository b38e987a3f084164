// Small changes of a policy, drawn at random. Thresholds are mostly put where the tensor is looked at: elsewhere they
// make no difference but to the load.
//
//   redraw   a interval is kept, or given up in a random way
//   pair     two intervals redrawn
//   swap     a interval that is given up is kept, and another of about the same time is given up
//   shift    one threshold of a interval that is given up is moved; where transfers run beside compute, also its page-in
//   lean     a interval is dropped, and what its recomputation reads is kept
#pragma once

#include <vector>

#include "plan/search/random.h"
#include "plan/simulate/simulate.h"

namespace pantoum::plan {

class Neighbours {
 public:
  // `ram`: intervals that no stage over it crosses when everything is kept are drawn seldom.
  Neighbours(const Model& model, Bytes ram);
  [[nodiscard]] bool empty() const { return intervals_.empty(); }
  [[nodiscard]] int32_t count() const { return static_cast<int32_t>(intervals_.size()); }
  // One neighbour of the simulator's policy. May be the policy itself.
  const std::vector<Simulator::Change>& draw(const Simulator& simulator, Random& random);

  // A large change for a start: a interval that is kept is given up, or the other way round.
  Simulator::Change turn(const Simulator& simulator, Random& random) { return turned(simulator, any(random), random); }
  Simulator::Change turned(const Simulator& simulator, int32_t interval, Random& random);
  // A interval that another policy has otherwise, and those near it that differ too, as they are there. May be empty.
  std::vector<Simulator::Change> follow(const Simulator& simulator, const Policy& guide, Random& random);
  // From now on only intervals are drawn that overlap this one and begin or end within `reach` stages of it, itself not.
  void focus(int32_t interval, int32_t reach);
  void focus_on_all() { focused_.clear(); }
  [[nodiscard]] const std::vector<int32_t>& focused() const { return focused_; }

 private:
  [[nodiscard]] int32_t any(Random& random) const;
  [[nodiscard]] int32_t last_stage(int32_t interval) const;
  [[nodiscard]] int32_t threshold(const Simulator& simulator, int32_t interval, int32_t low, Random& random);
  [[nodiscard]] bool moves_ahead(const Simulator& simulator) const;
  [[nodiscard]] int32_t ahead(int32_t interval, const IntervalPolicy& policy, Random& random) const;
  IntervalPolicy redrawn(const Simulator& simulator, int32_t interval, Random& random);
  IntervalPolicy given_up(const Simulator& simulator, int32_t interval, Random& random);
  void add(int32_t interval, const IntervalPolicy& to);
  void swap(const Simulator& simulator, Random& random);
  void shift(const Simulator& simulator, Random& random);
  void lean(const Simulator& simulator, Random& random);

  const Model& model_;
  std::vector<int32_t> intervals_;  // by their beginning; those of pressed stages first
  int32_t pressed_ = 0;             // how many of them
  std::vector<int32_t> focused_;
  std::vector<Simulator::Change> changes_;
  std::vector<int32_t> looks_;
};

}  // namespace pantoum::plan
