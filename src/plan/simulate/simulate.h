// The exact consequences of a policy: which instructions it gives, what they cost, and what RAM they take.
//
// The instruction stream of a stage:  page_in what is fetched ahead | recompute the inputs that were dropped | page_in
// the others | compute | free and page out what the policy gives up.
// Offsets are not known here. In time, bytes that are being written out are waited for only when RAM is full otherwise.
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "plan/simulate/live_bytes.h"
#include "plan/simulate/model.h"
#include "plan/simulate/policy.h"
#include "plan/simulate/prices.h"
#include "problem/objective_values.h"

namespace pantoum::plan {

using problem::Do;

struct Event {
  Do what = Do::kCompute;
  int32_t subject = 0;                  // op or tensor
  int32_t choice = 0;                   // into OpModel::choices
  std::vector<TensorIndex> taken_over;  // compute: by write, the tensor whose bytes it takes, or none
};

struct Limit {
  Question question;    // as the search asks it: less RAM or time than the user's where placing takes its part
  bool fewest = false;  // what is minimised are the bytes moved, in place of the objective
  bool clock = false;   // the time is told even where nothing asks for it
};

// Lexicographic in spirit: a plan counts when `sound` and both excesses are 0.
struct Outcome {
  bool sound = false;  // the instruction stream exists (nothing lost for good is asked for)
  double value = 0;    // what is minimised
  double excess = 0;   // bytes over the budget, summed over the stages; storage beyond its capacity
  Seconds late = 0;    // beyond the deadline
  Joules dear = 0;     // beyond the most energy
  Joules energy = 0;
  Seconds time = 0;  // 0 unless time matters
  [[nodiscard]] bool fits() const { return sound && excess == 0 && late == 0 && dear == 0; }
};

// The objective with a price on every byte over the budget, and every second and joule over their limits.
struct Priced {
  double byte_price = 0, second_price = 0, joule_price = 0;
  [[nodiscard]] double operator()(const Outcome& outcome) const {
    return outcome.value + byte_price * outcome.excess + second_price * outcome.late + joule_price * outcome.dear;
  }
};

// A neighbour that is dearer than `most` is of no interest: where that shows before its time is known, it is not timed.
struct Interest {
  Priced price;
  double most = std::numeric_limits<double>::infinity();
};

// Simulates one policy and its neighbours. A neighbour costs the stages whose course it changes: the accepted run knows
// which stages looked at which tensor, so that a stage is skipped when nothing that differs was looked at there; its
// load is shifted. Where time matters, what every stage does to the clock is noted, and after the first change all
// stages' notes are read again.
class Simulator {
 public:
  Simulator(const Model& model, const Limit& limit);

  // Replaces the policy; simulates all of it.
  const Outcome& reset(Policy policy);
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] const Outcome& outcome() const { return outcome_; }

  // What `changes` would give (one per interval). Followed by accept() or reject().
  struct Change {
    int32_t interval = 0;
    IntervalPolicy to;
  };
  Outcome propose(const std::vector<Change>& changes, const Interest& interest = {});
  Outcome propose_choice(int32_t op, int32_t choice, const Interest& interest = {});
  void accept();
  void reject();

  // By stage: the largest sum of live bytes while it runs.
  [[nodiscard]] Bytes peak(int32_t stage) const { return profile_[stage]; }
  // The stages in [from, to) at which the accepted run looks at the tensor.
  void looks(int32_t tensor, int32_t from, int32_t to, std::vector<int32_t>& stages) const;
  // The instruction stream of the current policy.
  [[nodiscard]] std::vector<Event> events();
  [[nodiscard]] bool times() const { return timed_; }
  [[nodiscard]] const Limit& limit() const { return limit_; }

 private:
  // An entity is a tensor or, after the tensors, an op that may run only once. Its word: flags, and above them one more
  // than the home whose bytes it occupies since the start.
  using Word = uint32_t;
  enum Flag : Word { kInRam = 1, kInAux = 2, kKept = 4, kHomeFree = 8, kHomeBusy = 16, kComputed = 32 };
  static constexpr int kHomeShift = 8;

  struct Moment {  // the word at the end of a stage that looked at the entity
    int32_t stage = 0;
    Word word = 0;
  };

  struct Flight {
    Seconds end = 0;
    Bytes bytes = 0;
  };
  struct Clock {
    Seconds now = 0, in_free = 0, out_free = 0, end = 0;
    Bytes flying = 0;             // freed, but still being written
    std::vector<Flight> flights;  // by end
  };
  struct Pending {  // a tensor's transfers that may end after `now`
    int32_t tensor = 0;
    Seconds ready = 0, stored = 0;
  };
  struct Checkpoint {
    Clock clock;
    std::vector<Pending> pending;
  };
  struct Tick {  // what a stage asks of the clock
    Do what = Do::kCompute;
    int32_t subject = 0, choice = 0;
    Bytes load = 0, size = 0;  // in RAM before it, less what was when the stage began; what it takes
  };

  struct Cost {  // of a stage, or the sum of all
    Joules joules = 0;
    double traffic = 0;                         // bytes moved
    Bytes over = 0;                             // bytes over the budget
    Bytes broken = 0;                           // bytes of duties that are not met
    Bytes stored = 0;                           // storage taken
    int64_t work = 0;                           // recomputations
    Seconds compute = 0, in = 0, out = 0;       // where time matters: of the engine, of the channel's directions
    void add(const Cost& other, int32_t sign);  // all but `over`, which shifts change too
  };

  struct Visit {  // of a stage by a trial
    int32_t stage = 0;
    Cost cost;
    Bytes begin = 0, end = 0, peak = 0;  // load
    size_t touched = 0;                  // first in trial_touched_
    size_t ticked = 0;                   // first in trial_ticks_
  };
  struct Touch {
    int32_t entity = 0;
    Word word = 0;  // at the end of the stage
  };
  struct Shift {  // stages [first, last) that a trial skips
    int32_t first = 0, last = 0;
    Bytes delta = 0;
  };
  struct Watch {  // by entity, in a trial
    bool listed = false, differs = false;
    Word word = 0;           // where it differs from the accepted run
    int32_t next = 0;        // the accepted run's next stage that looks at it
    int32_t forced_to = -1;  // its policy changed: stages up to this one that look at it are run
    size_t at = 0;           // in its moments: the last one before this stage
  };

  void set_constants();
  [[nodiscard]] Word first_word(int32_t entity) const;
  void index_policy();
  void set_interval(int32_t interval, const IntervalPolicy& to);
  void schedule(int32_t stage, int32_t end);
  void force(int32_t entity, int32_t from, int32_t to);
  Outcome run_all();
  Outcome run_changed(const Interest& interest);
  bool visit(int32_t stage, Bytes begin);
  void compare(int32_t stage);
  void settle(int32_t entity, int32_t stage, Word word);
  [[nodiscard]] int32_t next_stage(int32_t stage);
  void skip(int32_t first, int32_t last, Bytes delta);
  Outcome keep_trial();
  Outcome fail_trial();
  void forget_trial();
  void keep_visit(size_t index);
  void keep_moment(int32_t entity, int32_t stage, Word word);
  void drop_moment(int32_t entity, int32_t stage);
  [[nodiscard]] size_t moment_before(int32_t entity, int32_t stage) const;
  [[nodiscard]] Outcome outcome_of(const Cost& totals, Seconds time) const;

  bool stage(int32_t at);
  void fetch(int32_t at);
  bool first_computation(int32_t op);
  bool finish();
  bool finish_in_storage(int32_t tensor);
  [[nodiscard]] Bytes homes_missed();
  void evictions(int32_t at);
  bool require(const std::vector<TensorIndex>& reads);
  [[nodiscard]] bool rather_recompute(int32_t tensor);
  [[nodiscard]] bool can_recompute(int32_t tensor, int32_t& steps);
  bool recompute(int32_t tensor);
  bool compute(int32_t op, int32_t choice, bool first);
  void take_over(int32_t tensor, int32_t source);
  [[nodiscard]] bool dies(int32_t tensor, bool first);
  bool page_in(int32_t tensor);
  void page_out(int32_t tensor);
  void settle_outputs(const ChoiceModel& how, bool first);
  void release(int32_t tensor);
  void release_unless_kept(int32_t tensor);
  void begin_stay(int32_t tensor);
  Word& word(int32_t entity) {
    if (stamp_[static_cast<size_t>(entity)] != visit_) look_up(entity);
    return words_[static_cast<size_t>(entity)];
  }
  void look_up(int32_t entity);
  void flag(int32_t entity, Word bits, bool on) {
    Word& flags = word(entity);
    flags = on ? flags | bits : flags & ~bits;
  }
  [[nodiscard]] bool has(int32_t entity, Word bit) { return (word(entity) & bit) != 0; }
  [[nodiscard]] bool keeps_again(int32_t tensor) const;
  [[nodiscard]] int32_t interval_before(int32_t tensor) const;
  [[nodiscard]] int32_t home_of(int32_t tensor) const;
  [[nodiscard]] int32_t once_only(int32_t op) const { return static_cast<int32_t>(model_.tensors.size()) + op; }
  void raise_peak(Bytes load) {
    if (load > peak_) peak_ = load;
  }
  void tick(Do what, int32_t subject, int32_t choice, Bytes size) {
    if (timed_) trial_ticks_.push_back({what, subject, choice, load_ - begin_, size});
  }
  [[nodiscard]] Seconds least_time(const Cost& totals) const;
  Seconds run_clock(int32_t from, bool keep);
  void restore(const Checkpoint& checkpoint);
  void keep_checkpoint(Checkpoint& checkpoint);
  void run_tick(const Tick& tick, Bytes begin);
  Seconds wait_for_room(Bytes load, Bytes size);
  Seconds channel(int32_t tensor, bool out, Seconds earliest);
  [[nodiscard]] int32_t maker_choice(int32_t op, int32_t tensor) const;

  const Model& model_;
  const Limit limit_;
  const Bytes budget_;
  const bool timed_;
  bool has_optional_ = false;
  Policy policy_;
  Indexed<OpIndex, char> needed_;
  std::vector<std::vector<int32_t>> evicted_, fetched_;  // by stage: intervals, ascending
  std::vector<TensorIndex> finals_, stored_finals_;      // tensors that end in RAM, in storage
  Bytes first_load_ = 0, first_stored_ = 0;
  double tie_ = 0;
  Prices prices_;

  // The accepted run.
  std::vector<std::vector<Moment>> moments_;  // by entity, by stage; the first is the start
  std::vector<std::vector<int32_t>> looked_;  // by stage: entities
  std::vector<Cost> costs_;
  std::vector<Bytes> rises_, nets_;       // by stage: its peak, and the load at its end, less the load at its beginning
  std::vector<std::vector<Tick>> ticks_;  // by stage, where time matters
  LiveBytes profile_;
  Cost totals_;
  Outcome outcome_;

  // The trial.
  std::vector<Visit> visits_;
  std::vector<Touch> trial_touched_;
  std::vector<Tick> trial_ticks_;
  std::vector<Shift> shifts_;
  std::vector<int32_t> agenda_;  // stages to be run, ascending
  size_t agenda_at_ = 0;
  std::vector<int32_t> watched_;  // entities
  std::vector<Watch> watch_;
  Cost trial_totals_;
  Outcome trial_outcome_;
  bool trial_whole_ = false;
  std::vector<std::pair<int32_t, IntervalPolicy>> undo_;
  int32_t undo_op_ = -1, undo_choice_ = 0;

  // The stage at hand.
  std::vector<Word> words_;  // by entity, valid where stamped with the visit
  std::vector<uint64_t> stamp_;
  uint64_t visit_ = 0;
  bool dense_ = false;  // words_ are carried on from stage to stage
  std::vector<uint16_t> pins_;
  Cost cost_;
  Bytes begin_ = 0, load_ = 0, peak_ = 0;
  int32_t now_ = 0, depth_ = 0;
  int64_t most_work_ = 0;
  std::vector<Event>* log_ = nullptr;

  // The clock, and its state in the accepted run before every few stages.
  static constexpr int32_t kCheckpointEvery = 16;
  Clock clock_;
  std::vector<Seconds> ready_, stored_;  // by tensor: of any meaning only where later than clock_.now
  std::vector<int32_t> moved_;           // tensors of transfers that may be so
  std::vector<Checkpoint> checkpoints_;
  int32_t clock_from_ = 0;  // the first stage that the trial runs
};

}  // namespace pantoum::plan
