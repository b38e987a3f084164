// A neighbour of the accepted run: which stages it has to run, and how everything stands in them.
//
// A stage is run when it is scheduled, or when it looks at an entity that differs from the accepted run or whose policy
// changed. The others are skipped, and their live bytes are shifted.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/quantities.h"
#include "plan/simulate/indices.h"
#include "plan/simulate/model.h"
#include "plan/simulate/outcome.h"

namespace pantoum::plan {

// What a trial notes of the stages that it runs: for the accepted run, which takes it over, and for the clock.

// A tensor or, after the tensors, an op that may run only once.
using EntityIndex = Index<struct EntityTag>;

constexpr EntityIndex entity_of(TensorIndex tensor) {
  return EntityIndex(tensor.value());
}
inline EntityIndex entity_of(const Model& model, OpIndex op) {
  return EntityIndex(model.tensors.size() + position_of(op.value()));
}
inline size_t count_entities(const Model& model) {
  return model.tensors.size() + model.ops.size();
}

// Flags, and above them one more than the home whose bytes a tensor occupies since the start.
class EntityState {
 public:
  enum Flag : uint32_t {
    kInRam = 1,
    kInStorage = 2,
    kRetained = 4,   // until its policy evicts it
    kHomeFree = 8,   // a tensor that ends at a home: the home was free when its allocation began
    kHomeBusy = 16,  // a tensor that starts in RAM: the bytes of its start are occupied
    kComputed = 32   // an op that may run only once
  };

  bool has(uint32_t flag) const { return (bits_ & flag) != 0; }
  void set(uint32_t flags) { bits_ |= flags; }
  void clear(uint32_t flags) { bits_ &= ~flags; }
  void put(uint32_t flags, bool on) { bits_ = on ? bits_ | flags : bits_ & ~flags; }
  // All other flags, and the home, are cleared.
  void keep_only(uint32_t flags) { bits_ &= flags; }

  // Does it occupy the bytes of this home since the start?
  bool occupies(TensorIndex home) const { return bits_ >> kHomeShift == static_cast<uint32_t>(home.value()) + 1; }
  // The home that it occupies since the start, or none.
  TensorIndex occupied() const { return TensorIndex(static_cast<int32_t>(bits_ >> kHomeShift) - 1); }
  void occupy(TensorIndex home) { bits_ |= (static_cast<uint32_t>(home.value()) + 1) << kHomeShift; }
  // The other occupies it from now on.
  void hand_home_to(EntityState& other) {
    const uint32_t held = bits_ >> kHomeShift << kHomeShift;
    bits_ ^= held;
    other.bits_ |= held;
  }
  friend bool operator==(EntityState, EntityState) = default;

 private:
  static constexpr int kHomeShift = 8;
  uint32_t bits_ = 0;
};

// Before the step.
inline EntityState first_state(const Model& model, EntityIndex entity) {
  EntityState state;
  const TensorIndex tensor(entity.value());
  if (!model.tensors.contains(tensor)) return state;
  const Home start = model.tensors[tensor].start;
  if (start == Home::kAux) state.set(EntityState::kInStorage);
  if (start != Home::kRam) return state;
  state.set(EntityState::kInRam | EntityState::kRetained | EntityState::kHomeBusy);
  state.occupy(tensor);
  return state;
}

struct StageCost {  // of a stage, or the sum of all
  Joules joules = 0;
  double traffic = 0;                    // bytes moved
  Bytes over = 0;                        // bytes over the budget
  Bytes broken = 0;                      // bytes of duties that are not met
  Bytes stored = 0;                      // storage taken
  int64_t work = 0;                      // recomputations
  Seconds compute = 0, in = 0, out = 0;  // where time matters: of the engine, of the channel's directions
  // Adds sign times the other, all but `over`, which shifts change too.
  void add(const StageCost& other, int32_t sign) {
    joules += sign * other.joules;
    traffic += sign * other.traffic;
    broken += sign * other.broken;
    stored += sign * other.stored;
    work += sign * other.work;
    compute += sign * other.compute;
    in += sign * other.in;
    out += sign * other.out;
  }
};

struct Tick {  // what a stage asks of the clock
  enum What : uint8_t { kCompute, kPageOut, kPageIn, kFree, kOverwrite };
  What what = kCompute;             // kOverwrite: the compute after it writes over the tensor's bytes
  int32_t subject = 0, choice = 0;  // op or tensor
  Bytes live = 0, size = 0;         // live bytes before it, less those when the stage began; what it takes
  friend bool operator==(const Tick&, const Tick&) = default;
};

struct TrialRecord {
  struct Visit {  // of a stage
    Stage stage = 0;
    StageCost cost;
    Bytes begin = 0, end = 0, peak = 0;  // live bytes
    size_t touched = 0;                  // first in `touched`
    size_t ticked = 0;                   // first in `ticks`
  };
  struct Touch {
    EntityIndex entity;
    EntityState state;  // at the end of the stage
  };
  struct Shift {  // stages [first, last), which the trial skips
    Stage first = 0, last = 0;
    Bytes delta = 0;
  };

  std::vector<Visit> visits;  // by stage
  std::vector<Touch> touched;
  std::vector<Tick> ticks;  // where time matters
  std::vector<Shift> shifts;
  StageCost totals;    // of the whole step
  bool whole = false;  // all stages are run, from the start

  // Returns what the visit of this number looked at.
  std::span<const Touch> touches_of(size_t visit) const {
    const size_t end = visit + 1 < visits.size() ? visits[visit + 1].touched : touched.size();
    return std::span(touched).subspan(visits[visit].touched, end - visits[visit].touched);
  }
  // Returns what the visit asks of the clock.
  std::span<const Tick> ticks_of(size_t visit) const {
    const size_t end = visit + 1 < visits.size() ? visits[visit + 1].ticked : ticks.size();
    return std::span(ticks).subspan(visits[visit].ticked, end - visits[visit].ticked);
  }
  // Forgets everything but the totals.
  void clear() {
    visits.clear();
    touched.clear();
    ticks.clear();
    shifts.clear();
    whole = false;
  }
};

// What is remembered of every stage of the accepted policy, so that a neighbour costs only the stages it changes.

class LiveBytes {
 public:
  // All stages at 0.
  void reset(Stage stages, Bytes budget) {
    budget_ = budget;
    stages_ = stages;
    peaks_.assign(position_of(stages), 0);
    highest_.assign(position_of(stages / kBlock) + 1, 0);
    lowest_.assign(highest_.size(), 0);
  }

  Bytes operator[](Stage stage) const { return peaks_[stage]; }
  // Replaces what one stage has.
  void set(Stage stage, Bytes peak) {
    if (peaks_[stage] == peak) return;
    peaks_[stage] = peak;
    refresh(stage / kBlock);
  }

  // Adds delta to the stages [first, last).
  void add(Stage first, Stage last, Bytes delta) {
    for (Stage begin = first; begin < last;) {
      const int32_t block = begin / kBlock, end = std::min(last, (block + 1) * kBlock);
      for (Stage stage = begin; stage < end; ++stage) peaks_[stage] += delta;
      refresh(block);
      begin = end;
    }
  }

  // How many more bytes were over the budget, summed over [first, last), if delta were added. Cost: blocks, and the
  // stages of those blocks that cross the budget.
  Bytes excess_change(Stage first, Stage last, Bytes delta) const {
    Bytes change = 0;
    for (Stage begin = first; begin < last;) {
      const int32_t block = begin / kBlock, end = std::min(last, (block + 1) * kBlock);
      if (lowest_[block] + std::min<Bytes>(delta, 0) >= budget_)
        change += delta * (end - begin);
      else if (highest_[block] + std::max<Bytes>(delta, 0) > budget_)
        change += change_within(begin, end, delta);
      begin = end;
    }
    return change;
  }

 private:
  static constexpr int32_t kBlock = 64;
  Bytes change_within(Stage first, Stage last, Bytes delta) const {
    Bytes change = 0;
    for (Stage stage = first; stage < last; ++stage) {
      const Bytes over = peaks_[stage] - budget_;
      change += std::max<Bytes>(0, over + delta) - std::max<Bytes>(0, over);
    }
    return change;
  }

  void refresh(int32_t block) {
    const int32_t first = block * kBlock, last = std::min(stages_, first + kBlock);
    Bytes high = peaks_[first], low = high;
    for (Stage stage = first + 1; stage < last; ++stage) {
      high = std::max(high, peaks_[stage]);
      low = std::min(low, peaks_[stage]);
    }
    highest_[block] = high;
    lowest_[block] = low;
  }

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
  AcceptedRun(const Model& model, Bytes budget, bool timed, const Indexed<Stage, Bytes>* reserve)
      : model_(model), budget_(budget), timed_(timed), reserve_(reserve) {
    const size_t stages = position_of(model.end()) + 1, entities = count_entities(model);
    lines_.resize(entities);
    looked_.resize(stages);
    costs_.resize(stages);
    rises_.assign(stages, 0);
    nets_.assign(stages, 0);
    live_.reset(static_cast<Stage>(stages), budget);
    if (timed) ticks_.resize(stages);
    stamps_.assign(entities, 0);
  }

  // Takes over from the trial the stages that it ran or shifted.
  void take(const TrialRecord& trial, const Outcome& outcome) {
    if (trial.whole) forget();
    for (size_t index = 0; index < trial.visits.size(); ++index) take_visit(trial, index);
    for (const TrialRecord::Shift& shift : trial.shifts) live_.add(shift.first, shift.last, shift.delta);
    totals_ = trial.totals;
    outcome_ = outcome;
  }

  const Outcome& outcome() const { return outcome_; }
  // Returns the sums of all stages.
  const StageCost& totals() const { return totals_; }
  // Returns the cost of one stage.
  const StageCost& cost(Stage stage) const { return costs_[stage]; }
  // The largest sum of live bytes while the stage runs, with those that are kept in reserve.
  Bytes peak(Stage stage) const { return live_[stage]; }
  // Returns by how many bytes the peak is over the budget.
  Bytes over(Stage stage) const { return std::max<Bytes>(0, live_[stage] - budget_); }
  // Live bytes when the stage begins.
  Bytes begin(Stage stage) const { return live_[stage] - rises_[stage]; }
  // Live bytes at the stage's end, less those at its beginning.
  Bytes net(Stage stage) const { return nets_[stage]; }
  // How many more bytes were over the budget, summed over [first, last), if delta were added to every stage.
  Bytes excess_change(Stage first, Stage last, Bytes delta) const { return live_.excess_change(first, last, delta); }
  // Returns what the stage asks of the clock.
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
  void looks(EntityIndex entity, Stage from, Stage to, std::vector<Stage>& stages) const {
    stages.clear();
    const Line& line = lines_[entity];
    for (size_t at = moment_before(entity, from) + 1; at < line.size() && line[at].stage < to; ++at)
      stages.push_back(line[at].stage);
  }

 private:
  void forget() {
    for (const EntityIndex entity : lines_.indices()) lines_[entity].assign(1, {-1, first_state(model_, entity)});
    for (std::vector<EntityIndex>& list : looked_) list.clear();
  }

  void take_visit(const TrialRecord& trial, size_t index) {
    const TrialRecord::Visit& visit = trial.visits[index];
    const Stage stage = visit.stage;
    const auto touches = trial.touches_of(index);
    ++visit_;
    for (const TrialRecord::Touch& touch : touches) {
      stamps_[touch.entity] = visit_;
      keep_moment(touch.entity, stage, touch.state);
    }
    std::vector<EntityIndex>& list = looked_[stage];
    for (const EntityIndex entity : list)
      if (stamps_[entity] != visit_) drop_moment(entity, stage);
    list.clear();
    for (const TrialRecord::Touch& touch : touches) list.push_back(touch.entity);
    costs_[stage] = visit.cost;
    const Bytes peak = visit.peak + (reserve_ != nullptr ? (*reserve_)[stage] : 0);
    rises_[stage] = peak - visit.begin;
    nets_[stage] = visit.end - visit.begin;
    live_.set(stage, peak);
    if (!timed_) return;
    const auto ticks = trial.ticks_of(index);
    ticks_[stage].assign(ticks.begin(), ticks.end());
  }

  void keep_moment(EntityIndex entity, Stage stage, EntityState state) {
    Line& line = lines_[entity];
    const size_t after = moment_before(entity, stage) + 1;
    if (after < line.size() && line[after].stage == stage)
      line[after].state = state;
    else
      line.insert(line.begin() + static_cast<std::ptrdiff_t>(after), {stage, state});
  }

  void drop_moment(EntityIndex entity, Stage stage) {
    Line& line = lines_[entity];
    line.erase(line.begin() + static_cast<std::ptrdiff_t>(moment_before(entity, stage) + 1));
  }

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

class Trial {
 public:
  // `timed`: what stages ask of the clock is noted.
  Trial(const Model& model, const AcceptedRun& accepted, bool timed)
      : model_(model), accepted_(accepted), timed_(timed) {
    const size_t entities = count_entities(model);
    watches_.resize(entities);
    states_.resize(entities);
    stamps_.assign(entities, 0);
  }

  // Forgets the changes and whatever was run.
  void clear() {
    for (const EntityIndex entity : watched_) watches_[entity] = {};
    watched_.clear();
    agenda_.clear();
    record_.clear();
  }

  // The stage is to be run, if it comes before `end`.
  void schedule(Stage stage, Stage end) {
    if (stage < end) agenda_.push_back(stage);
  }

  // The stages in [from, to] that look at the entity are to be run.
  void force(EntityIndex entity, Stage from, Stage to) {
    Watch& watch = watches_[entity];
    if (!watch.listed) {
      watch.listed = true;
      watch.next = kNoStage;
      watched_.push_back(entity);
    }
    const AcceptedRun::Line& line = accepted_.line(entity);
    if (const size_t after = accepted_.moment_before(entity, from) + 1; after < line.size())
      watch.next = std::min(watch.next, line[after].stage);
    watch.forced_to = std::max(watch.forced_to, to);
  }

  // Starts a run of all stages, or of those that the changes reach.
  void start_whole() {
    clear();
    record_.whole = true;
    record_.totals = {};
    first_stage_ = 0;
    for (const EntityIndex entity : states_.indices()) states_[entity] = first_state(model_, entity);
  }

  void start_changed() {
    record_.totals = accepted_.totals();
    std::ranges::sort(agenda_);
    agenda_at_ = 0;
    first_stage_ = next_stage(-1);
  }

  // After start_changed: the first stage to be run after this one; Model::end() + 1: none.
  Stage next_stage(Stage stage) {
    while (agenda_at_ < agenda_.size() && agenda_[agenda_at_] <= stage) ++agenda_at_;
    Stage next = agenda_at_ < agenda_.size() ? agenda_[agenda_at_] : kNoStage;
    for (size_t each = 0; each < watched_.size();) {
      Watch& watch = watches_[watched_[each]];
      if (!watch.differs && watch.next > watch.forced_to) {
        watch = {};
        watched_[each] = watched_.back();
        watched_.pop_back();
        continue;
      }
      next = std::min(next, watch.next);
      ++each;
    }
    return std::min(next, model_.end() + 1);
  }

  // The stage is run from now on. All figures of its cost but `over` are told in the end.
  void begin_stage(Stage stage, Bytes live) {
    ++visit_;
    now_ = stage;
    record_.visits.push_back({.stage = stage,
                              .cost = {},
                              .begin = live,
                              .peak = 0,
                              .touched = record_.touched.size(),
                              .ticked = record_.ticks.size()});
  }

  void end_stage(const StageCost& cost, Bytes peak, Bytes live, Bytes budget) {
    TrialRecord::Visit& visit = record_.visits.back();
    for (size_t touch = visit.touched; touch < record_.touched.size(); ++touch)
      record_.touched[touch].state = states_[record_.touched[touch].entity];
    visit.cost = cost;
    visit.cost.over = std::max<Bytes>(0, peak - budget);
    visit.peak = peak;
    visit.end = live;
    if (!record_.whole) {
      record_.totals.add(accepted_.cost(visit.stage), -1);
      record_.totals.over -= accepted_.over(visit.stage);
    }
    record_.totals.over += visit.cost.over;
    record_.totals.add(cost, 1);
  }

  // After end_stage of a stage after start_changed: what differs from the accepted run at its end?
  void compare(Stage stage) {
    for (size_t touch = record_.visits.back().touched; touch < record_.touched.size(); ++touch)
      settle(record_.touched[touch].entity, stage, record_.touched[touch].state);
    for (const EntityIndex entity : accepted_.looked_at(stage)) {
      if (stamps_[entity] == visit_) continue;
      watches_[entity].at = accepted_.moment_before(entity, stage);
      settle(entity, stage, state_before(entity));
    }
  }

  // The stages [first, last) are not run; they have `delta` more live bytes than in the accepted run.
  void skip(Stage first, Stage last, Bytes delta) {
    record_.shifts.push_back({first, last, delta});
    record_.totals.over += accepted_.excess_change(first, last, delta);
  }

  // The states of all entities in the stage that is run, good until its end. A state is looked up when it is first asked
  // for.
  class States {
   public:
    EntityState& operator[](EntityIndex entity) const {
      const size_t at = position_of(entity);
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

  void look_up(EntityIndex entity) {
    stamps_[entity] = visit_;
    record_.touched.push_back({entity, {}});
    if (record_.whole) return;  // the states are carried on from stage to stage
    watches_[entity].at = accepted_.moment_before(entity, now_);
    states_[entity] = state_before(entity);
  }

  void settle(EntityIndex entity, Stage stage, EntityState state) {
    Watch& watch = watches_[entity];
    const AcceptedRun::Line& line = accepted_.line(entity);
    size_t last = watch.at;
    if (last + 1 < line.size() && line[last + 1].stage == stage) ++last;
    watch.differs = state != line[last].state;
    watch.state = state;
    watch.next = last + 1 < line.size() ? line[last + 1].stage : kNoStage;
    if (watch.differs && !watch.listed) {
      watch.listed = true;
      watched_.push_back(entity);
    }
  }

  EntityState state_before(EntityIndex entity) const {
    const Watch& watch = watches_[entity];
    return watch.differs ? watch.state : accepted_.line(entity)[watch.at].state;
  }

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
