// The exact consequences of a policy: which instructions it gives, what they cost, and what RAM they take.
//
// The instruction stream of a stage:  page_in what is fetched ahead | recompute the inputs that were dropped | page_in
// the others | compute | free and page out what the policy gives up.
// Offsets are not known here. In time, bytes that are being written out are waited for only when RAM is full otherwise.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "plan/model.h"
#include "plan/policy.h"

namespace pantoum::plan {

struct Event {
  Do what = Do::kCompute;
  int32_t subject = 0;              // op or tensor
  int32_t choice = 0;               // into OpModel::choices
  std::vector<int32_t> taken_over;  // compute: by write, the tensor whose bytes it takes, or -1
};

struct Limit {
  Bytes ram = 0;
  Seconds deadline = 0;  // 0: none
  Objective objective = Objective::kEnergy;
};

// Lexicographic in spirit: a plan counts when `sound` and both excesses are 0.
struct Outcome {
  bool sound = false;  // the instruction stream exists (nothing lost for good is asked for)
  double value = 0;    // what is minimised
  double excess = 0;   // bytes over the budget, summed over the stages; storage beyond its capacity
  Seconds late = 0;    // beyond the deadline
  Joules energy = 0;
  Seconds time = 0;  // 0 unless time matters
  [[nodiscard]] bool fits() const { return sound && excess == 0 && late == 0; }
};

// Simulates one policy and its neighbours. A neighbour costs the stages that it changes.
class Simulator {
 public:
  Simulator(const Model& model, const Limit& limit);

  // Replaces the policy; simulates all of it.
  const Outcome& reset(Policy policy);
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

  // What `changes` would give. Followed by accept() or reject().
  struct Change {
    int32_t gap = 0;
    GapPolicy to;
  };
  Outcome propose(const std::vector<Change>& changes);
  Outcome propose_choice(int32_t op, int32_t choice);
  void accept();
  void reject();

  // By stage: the largest sum of live bytes while it runs.
  [[nodiscard]] Bytes peak(int32_t stage) const { return costs_[static_cast<size_t>(stage)].peak; }
  // The instruction stream of the current policy.
  [[nodiscard]] std::vector<Event> events();
  [[nodiscard]] bool times() const { return timed_; }
  [[nodiscard]] const Limit& limit() const { return limit_; }

 private:
  enum Flag : uint8_t { kInRam = 1, kInAux = 2, kKept = 4, kHomeFree = 8 };

  struct Clock {
    Seconds now = 0, in_free = 0, out_free = 0, end = 0;
    Bytes flying = 0;                                // freed, but still being written
    std::vector<std::pair<Seconds, Bytes>> flights;  // by end
    std::vector<Seconds> ready, stored;              // by tensor
  };

  struct State {
    std::vector<uint8_t> flags;      // by tensor
    std::vector<int32_t> home_held;  // by tensor: the home whose bytes it occupies since the start, or -1
    std::vector<uint8_t> home_busy;  // by tensor that started in RAM
    std::vector<int32_t> gap;        // by tensor: the one it is in
    std::vector<uint8_t> computed;   // by op that may run once only
    Bytes load = 0;
    uint64_t hash = 0;
    Clock clock;
  };

  struct StageCost {
    Joules joules = 0;
    double traffic = 0;  // bytes moved
    Bytes peak = 0;
    Bytes stored = 0;   // storage taken
    double broken = 0;  // bytes of duties that are not met
    uint64_t hash = 0;
    int64_t computes = 0;
  };

  struct Totals {
    Joules joules = 0;
    double traffic = 0, over = 0;
    Bytes stored = 0;
  };

  [[nodiscard]] State initial_state() const;
  void index_policy();
  void set_gap(int32_t gap, const GapPolicy& to);
  Outcome run(int32_t first, int32_t last, bool whole);
  [[nodiscard]] Totals totals_of_trial(bool whole) const;
  [[nodiscard]] Outcome outcome_of(const Totals& totals) const;
  bool stage(int32_t at);
  void fetch(int32_t at);
  bool first_computation(int32_t op);
  bool finish();
  bool finish_in_storage(int32_t tensor);
  [[nodiscard]] double homes_missed() const;
  void evictions(int32_t at);
  bool require(const std::vector<int32_t>& reads);
  void unpin(const std::vector<int32_t>& reads);
  [[nodiscard]] bool rather_recompute(int32_t tensor) const;
  bool recompute(int32_t tensor);
  bool compute(int32_t op, int32_t choice, bool first);
  [[nodiscard]] bool dies(int32_t tensor, bool first) const;
  bool page_in(int32_t tensor);
  void page_out(int32_t tensor);
  void settle_outputs(const ChoiceModel& how, bool first);
  void release(int32_t tensor);
  void release_unless_kept(int32_t tensor);
  void begin_stay(int32_t tensor);
  void flag(int32_t tensor, uint8_t bit, bool on);
  [[nodiscard]] bool has(int32_t tensor, uint8_t bit) const {
    return (state_.flags[static_cast<size_t>(tensor)] & bit) != 0;
  }
  [[nodiscard]] int32_t home_of(int32_t tensor) const;
  void raise_peak(Bytes load) {
    if (load > cost_.peak) cost_.peak = load;
  }
  Seconds wait_for_room(Bytes size);
  Seconds channel(bool out, Seconds earliest, Seconds seconds);
  [[nodiscard]] int32_t maker_choice(int32_t op, int32_t tensor) const;

  const Model& model_;
  const Limit limit_;
  const bool timed_;
  Policy policy_;
  std::vector<char> needed_;
  std::vector<std::vector<int32_t>> evicted_, fetched_;  // by stage: gaps, ascending
  std::vector<int32_t> finals_;                          // tensors that end in RAM
  State state_;
  std::vector<uint16_t> pins_;
  StageCost cost_;
  int32_t now_ = 0;  // stage
  int32_t depth_ = 0;
  int64_t work_ = 0, most_work_ = 0;
  std::vector<Event>* log_ = nullptr;

  // The accepted run and the proposed one.
  static constexpr int32_t kCheckpointEvery = 16;
  std::vector<StageCost> costs_, trial_costs_;
  Totals totals_, trial_totals_;
  std::vector<State> checkpoints_, trial_checkpoints_;
  int32_t trial_first_ = 0, trial_stop_ = 0;  // stages [first, stop) were simulated
  Outcome outcome_, trial_outcome_;
  std::vector<std::pair<int32_t, GapPolicy>> undo_;
  int32_t undo_op_ = -1, undo_choice_ = 0;
  double tie_ = 0;
};

}  // namespace pantoum::plan
