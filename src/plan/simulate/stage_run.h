// The instructions of one stage of a trial: what they are, cost, and take of RAM.
//
// The stream of a stage:  page_in or recompute what is fetched ahead | recompute the inputs that were dropped | page_in the
// others | evict, by freeing and page_out, what the policy does not retain and the op does not read | compute | evict the
// rest.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/lists.h"
#include "base/round_up.h"
#include "plan/simulate/model.h"
#include "plan/simulate/outcome.h"
#include "plan/simulate/policy.h"
#include "plan/simulate/trial.h"

namespace pantoum::plan {

// What the cost of a step is worth under a limit.

class Valuation {
 public:
  Valuation(const Model& model, const Limit& limit)
      : model_(model),
        limit_(limit),
        budget_(limit.question.budget_bytes()),
        timed_(limit.clock || limit.question.deadline || limit.question.objective != Objective::kEnergy ||
               model.idle_w > 0),
        clocked_(timed_ && overlaps(model)) {
    double seconds = 0, joules = 0, bytes = 1;
    for (const OpModel& op : model.ops) seconds += op.choices.front().seconds, joules += op.choices.front().joules;
    prices_ = prices_of(limit.question.objective, joules, seconds);
    first_live_ = base::round_up(model.staging, model.align);
    for (const TensorModel& tensor : model.tensors) {
      if (tensor.start == Home::kRam) first_live_ += tensor.size;
      if (tensor.start == Home::kAux) first_stored_ += tensor.slot;
      bytes += static_cast<double>(tensor.bytes);
    }
    tie_ = 1e-7 * seconds / bytes;
  }

  const Limit& limit() const { return limit_; }
  Bytes budget() const { return budget_; }
  // Returns what is left of the budget in the stage.
  Bytes budget(Stage stage) const { return budget_ - (limit_.reserve ? (*limit_.reserve)[stage] : 0); }
  // Does time matter?
  bool timed() const { return timed_; }
  // Is the makespan more than a sum: does a transfer ever run beside a compute?
  bool clocked() const { return clocked_; }
  // Live bytes before the step.
  Bytes first_live() const { return first_live_; }
  // What a joule and a second count where two ways to do the same are compared.
  const Prices& prices() const { return prices_; }
  // `time`: the makespan; of no account unless time matters.
  Outcome outcome(const StageCost& totals, Seconds time) const {
    const Question& question = limit_.question;
    Outcome outcome{.sound = true, .excess = static_cast<double>(totals.over + totals.broken), .energy = totals.joules};
    const Bytes stored = first_stored_ + totals.stored;
    if (model_.capacity >= 0 && stored > model_.capacity)
      outcome.excess += static_cast<double>(stored - model_.capacity);
    if (timed_) {
      outcome.time = time;
      outcome.energy += model_.idle_w * outcome.time;
      if (question.deadline) outcome.time_excess = std::max(0.0, outcome.time - *question.deadline);
    }
    if (question.energy_limit) outcome.energy_excess = std::max(0.0, outcome.energy - *question.energy_limit);
    outcome.value = value_of(question.objective, outcome.energy, outcome.time);
    if (question.objective == Objective::kTime) outcome.value += tie_ * totals.traffic;
    return outcome;
  }

 private:
  // Can a transfer run beside a compute?
  static bool overlaps(const Model& model) {
    return model.async && std::ranges::any_of(model.tensors, [](const TensorModel& tensor) {
             return tensor.can_page || tensor.ends_in_aux || tensor.start == Home::kAux;
           });
  }

  const Model& model_;
  const Limit limit_;
  const Bytes budget_;
  const bool timed_, clocked_;
  Bytes first_live_ = 0, first_stored_ = 0;
  double tie_ = 0;  // of equal makespans the one with fewer bytes moved
  Prices prices_;
};

class StageRun {
  using enum EntityState::Flag;

 public:
  // The stage runs what the policy says, and notes in the trial what it looks at and asks of the clock.
  StageRun(const Model& model, const Valuation& valuation, const ScheduledPolicy& policy, Trial& trial)
      : model_(model),
        policy_(policy),
        trial_(trial),
        prices_(valuation.prices()),
        most_work_(64 * static_cast<int64_t>(model.ops.size()) + 10000) {
    for (const TensorIndex tensor : model.tensors.indices()) {
      if (model.tensors[tensor].ends_in_ram) finals_.push_back(tensor);
      if (model.tensors[tensor].ends_in_aux) stored_finals_.push_back(tensor);
    }
    pins_.assign(model.tensors.size(), 0);
  }

  // Runs the stage from this many live bytes on. False: there is no such stream, or it has more recomputations than
  // `most_work`.
  bool run(Stage stage, Bytes live, int64_t most_work) {
    states_ = trial_.states();
    stage_work_ = std::min(most_work, most_work_);
    cost_ = {};
    begin_ = live_ = peak_ = live;
    depth_ = 0;
    now_ = stage;
    if (stage == model_.end()) return finish();
    if (stage > 0) {
      if (!fetch()) return false;
      const OpIndex op = Model::op_of(stage);
      if (policy_.needs(op) && !first_computation(op)) return false;
    }
    evictions();
    return true;
  }

  // Live bytes at its end, and the most while it ran.
  Bytes live() const { return live_; }
  Bytes peak() const { return peak_; }
  const StageCost& cost() const { return cost_; }
  // Recomputations beyond these are too many for a step.
  int64_t most_work() const { return most_work_; }
  // After a stage without a stream: the next one may be run.
  void recover() { std::fill(pins_.begin(), pins_.end(), uint16_t{0}); }

  // Writes the stream to this log from now on. Null: nowhere.
  void log_to(std::vector<Event>* log) { log_ = log; }

 private:
  static constexpr int32_t kMostDepth = 1500;  // of a chain of recomputations: bounds the stack
  static constexpr int32_t kMostSteps = 256;

  bool finish() {
    for (const TensorIndex tensor : stored_finals_)
      if (!finish_in_storage(tensor)) return false;
    if (!require(finals_)) return false;
    for (const TensorIndex tensor : finals_) --pins_[tensor];
    cost_.broken += homes_missed();
    return true;
  }

  bool finish_in_storage(TensorIndex tensor) {
    if (in_storage(tensor)) return true;
    if (!model_.paging) return false;
    if (!require({tensor})) return false;
    --pins_[tensor];
    page_out(tensor);
    if (!model_.tensors[tensor].ends_in_ram && !model_.tensors[tensor].pinned) release(tensor);
    return true;
  }

  // Bytes of what does not end where the next step looks for it.
  Bytes homes_missed() {
    Bytes bytes = 0;
    for (const TensorIndex tensor : finals_) {
      const TensorIndex home = model_.tensors[tensor].home;
      if (!home.exists() || model_.tensors[tensor].bytes == 0 || model_.tensors[home].bytes == 0) continue;
      const EntityState at_end = state(tensor);
      if (!at_end.occupies(home) && !at_end.has(kHomeFree)) bytes += model_.tensors[tensor].size;
    }
    return bytes;
  }

  bool fetch() {
    for (const IntervalIndex interval : policy_.fetched(now_)) {
      const TensorIndex tensor = model_.intervals[interval].tensor;
      if (in_ram(tensor)) continue;
      int32_t steps = kMostSteps;
      if (in_storage(tensor)) {
        page_in(tensor);
      } else if (!policy_[interval].page && can_recompute(tensor, steps)) {
        ++pins_[tensor];
        if (!recompute(tensor)) return false;
        --pins_[tensor];
      } else {
        continue;
      }
      state(tensor).set(kRetained);
    }
    return true;
  }

  bool first_computation(OpIndex op) {
    const ChoiceModel& how = policy_.chosen(op);
    if (!require(how.reads)) return false;
    if (cost_.work > 0 && !model_.paging) evictions();  // what only recomputations read need not be there any more
    if (!compute(op, policy_.choice(op), true)) return false;
    for (const TensorIndex tensor : how.reads) {
      --pins_[tensor];
      if (in_ram(tensor)) state(tensor).set(kRetained);
    }
    return true;
  }

  void evictions() {
    for (const IntervalIndex interval : policy_.evicted(now_)) {
      const TensorIndex tensor = model_.intervals[interval].tensor;
      if (!in_ram(tensor) || model_.tensors[tensor].pinned || pins_[tensor] > 0) continue;
      if (policy_[interval].page && !in_storage(tensor)) page_out(tensor);
      release(tensor);
    }
  }

  bool require(const std::vector<TensorIndex>& reads) {
    for (const TensorIndex tensor : reads) ++pins_[tensor];
    for (const TensorIndex tensor : reads)
      if (!in_ram(tensor) && rather_recompute(tensor) && !recompute(tensor)) return false;
    for (const TensorIndex tensor : reads)
      if (!in_ram(tensor) && !page_in(tensor)) return false;
    return true;
  }

  bool rather_recompute(TensorIndex tensor) {
    if (!in_storage(tensor)) return true;
    const TensorModel& entry = model_.tensors[tensor];
    const IntervalIndex interval = interval_before(tensor);
    if (!entry.producer.exists() || !model_.ops[entry.producer].recomputable) return false;
    if (!interval.exists() || policy_[interval].page) return false;
    const int32_t choice = maker_choice(entry.producer, tensor);
    const ChoiceModel& how = model_.chosen(entry.producer, choice);
    if (model_.uses(Switch::kReadBack) && prices_(how.joules, how.seconds) >= prices_(entry.in_j, entry.in_s))
      return false;
    int32_t steps = kMostSteps;
    return can_recompute(tensor, steps);
  }

  // Can all that it takes still be had? Looks at no more than so many tensors: false where that is not enough.
  bool can_recompute(TensorIndex tensor, int32_t& steps) {
    const OpIndex op = model_.tensors[tensor].producer;
    if (!op.exists() || !may_compute(op)) return false;
    const int32_t choice = maker_choice(op, tensor);
    if (choice < 0) return false;
    for (const TensorIndex read : model_.chosen(op, choice).reads)
      if (--steps < 0 || (!in_ram(read) && !in_storage(read) && !can_recompute(read, steps))) return false;
    return true;
  }

  // Is it in the past, and may it be computed once more?
  bool may_compute(OpIndex op) {
    const OpModel& entry = model_.ops[op];
    return entry.stage <= now_ && (entry.recomputable || !state(op).has(kComputed));
  }

  bool recompute(TensorIndex tensor) {
    const OpIndex op = model_.tensors[tensor].producer;
    if (!op.exists()) return false;
    const int32_t choice = maker_choice(op, tensor);
    if (choice < 0 || !may_compute(op)) return false;
    if (++cost_.work > stage_work_ || depth_ >= kMostDepth) return false;
    ++depth_;
    const ChoiceModel& how = model_.chosen(op, choice);
    if (!require(how.reads) || !compute(op, choice, false)) return false;
    for (const TensorIndex read : how.reads) {
      --pins_[read];
      release_unless_retained(read);
    }
    --depth_;
    return true;
  }

  bool compute(OpIndex op, int32_t choice, bool first) {
    const ChoiceModel& how = model_.chosen(op, choice);
    if (log_) log_->push_back({Do::kCompute, op.value(), choice, std::vector<TensorIndex>(how.writes.size())});
    const Bytes fresh = place_outputs(how, first);
    raise_peak(live_ + fresh + how.workspace);
    tick(Tick::kCompute, op.value(), choice, fresh + how.workspace);
    live_ += fresh;
    cost_.joules += how.joules;
    cost_.compute += how.seconds;
    if (!model_.ops[op].recomputable) state(op).set(kComputed);
    settle_outputs(how, first);
    return true;
  }

  // Places the outputs where they are, over an input, or in fresh bytes, whose number it returns. Bytes that are
  // written over wait for the end of their page_out.
  Bytes place_outputs(const ChoiceModel& how, bool first) {
    const auto overwrite = [&](TensorIndex tensor) {
      if (model_.async && in_storage(tensor)) tick(Tick::kOverwrite, tensor.value(), 0, 0);
    };
    Bytes fresh = 0;
    for (size_t write = 0; write < how.writes.size(); ++write) {
      const TensorIndex tensor = how.writes[write], source = how.over[write];
      if (in_ram(tensor)) {
        overwrite(tensor);
      } else if (source.exists() && in_ram(source) && dies(source, first)) {
        if (log_) log_->back().taken_over[write] = source;
        overwrite(source);
        take_over(tensor, source);
      } else {
        fresh += model_.tensors[tensor].size;
        state(tensor).set(kInRam);
        begin_allocation(tensor);
      }
    }
    return fresh;
  }

  // The tensor takes the bytes of the source, and with them the home that the source occupies.
  void take_over(TensorIndex tensor, TensorIndex source) {
    EntityState& from = state(source);
    const bool at_home = from.has(kHomeFree) && home_of(source) == model_.tensors[tensor].home;
    from.clear(kInRam | kRetained | kHomeFree);
    EntityState& to = state(tensor);
    to.clear(kHomeFree);
    to.set(kInRam);
    from.hand_home_to(to);
    if (at_home) to.set(kHomeFree);
  }

  // An input that the op may overwrite: nobody asks for its bytes after it.
  bool dies(TensorIndex tensor, bool first) {
    const TensorModel& entry = model_.tensors[tensor];
    if (pins_[tensor] != 1) return false;
    if (!first) return !entry.pinned && !state(tensor).has(kRetained);
    IntervalIndex next = interval_before(tensor);
    ++next;
    if (entry.pinned) return model_.intervals[next].to == model_.never();
    const IntervalPolicy& how = policy_[next];
    return how.evict == now_ && (!how.page || in_storage(tensor));
  }

  void settle_outputs(const ChoiceModel& how, bool first) {
    for (const TensorIndex tensor : how.writes) {
      if (first || retains(tensor)) state(tensor).set(kRetained);
      if (!first) release_unless_retained(tensor);
    }
  }

  bool page_in(TensorIndex tensor) {
    if (!in_storage(tensor)) return false;
    const TensorModel& entry = model_.tensors[tensor];
    raise_peak(live_ + entry.size);
    tick(Tick::kPageIn, tensor.value(), 0, entry.size);
    live_ += entry.size;
    state(tensor).set(kInRam);
    begin_allocation(tensor);
    if (retains(tensor)) state(tensor).set(kRetained);
    cost_.joules += entry.in_j;
    cost_.in += entry.in_s;
    cost_.traffic += static_cast<double>(entry.bytes);
    log(Do::kPageIn, tensor);
    return true;
  }

  void page_out(TensorIndex tensor) {
    const TensorModel& entry = model_.tensors[tensor];
    tick(Tick::kPageOut, tensor.value(), 0, 0);
    state(tensor).set(kInStorage);
    cost_.stored += entry.slot;
    cost_.joules += entry.out_j;
    cost_.out += entry.out_s;
    cost_.traffic += static_cast<double>(entry.bytes);
    log(Do::kPageOut, tensor);
  }

  void release(TensorIndex tensor) {
    EntityState& released = state(tensor);
    const TensorIndex home = released.occupied();
    released.keep_only(kInStorage | kHomeBusy | kComputed);
    if (home.exists()) state(home).clear(kHomeBusy);
    tick(Tick::kFree, tensor.value(), 0, 0);
    live_ -= model_.tensors[tensor].size;
    log(Do::kFree, tensor);
  }

  void release_unless_retained(TensorIndex tensor) {
    const EntityState now = state(tensor);
    if (now.has(kRetained) || pins_[tensor] > 0) return;
    if (now.has(kInRam) && !model_.tensors[tensor].pinned) release(tensor);
  }

  void begin_allocation(TensorIndex tensor) {
    const TensorIndex home = home_of(tensor);
    const bool free = home.exists() && !state(home).has(kHomeBusy);
    state(tensor).put(kHomeFree, free);
  }

  // Rematerialized now, is it retained?
  bool retains(TensorIndex tensor) const {
    const IntervalIndex interval = interval_before(tensor);
    return interval.exists() && now_ >= policy_[interval].retain && now_ < policy_[interval].until;
  }

  // The interval that the tensor is in when the stage begins; none: it is not made yet.
  IntervalIndex interval_before(TensorIndex tensor) const {
    const IndexRange<IntervalIndex> intervals = model_.tensors[tensor].intervals;
    if (intervals.empty()) return {};
    IntervalIndex interval = intervals.front();
    if (model_.intervals[interval].from >= now_) return {};
    const IntervalIndex last = intervals.back();
    while (interval < last && model_.intervals[interval].to < now_) ++interval;
    return interval;
  }

  TensorIndex home_of(TensorIndex tensor) const {
    const TensorModel& entry = model_.tensors[tensor];
    if (entry.home.exists()) return entry.home;
    return entry.start == Home::kRam ? tensor : TensorIndex();
  }

  // The op's own choice if it writes the tensor, else the first that does.
  int32_t maker_choice(OpIndex op, TensorIndex tensor) const {
    const std::vector<ChoiceModel>& choices = model_.ops[op].choices;
    const auto writes = [&](int32_t choice) {
      const std::vector<TensorIndex>& list = choices[position_of(choice)].writes;
      return base::contains(list, tensor);
    };
    const int32_t own = policy_.choice(op);
    if (writes(own)) return own;
    for (int32_t choice = 0; choice < static_cast<int32_t>(choices.size()); ++choice)
      if (writes(choice)) return choice;
    return -1;
  }

  EntityState& state(TensorIndex tensor) { return states_[entity_of(tensor)]; }
  EntityState& state(OpIndex op) { return states_[entity_of(model_, op)]; }
  bool in_ram(TensorIndex tensor) { return state(tensor).has(kInRam); }
  bool in_storage(TensorIndex tensor) { return state(tensor).has(kInStorage); }
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
