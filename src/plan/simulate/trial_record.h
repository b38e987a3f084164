// What a trial notes of the stages that it runs: for the accepted run, which takes it over, and for the clock.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plan/simulate/model.h"

namespace pantoum::plan {

// A tensor or, after the tensors, an op that may run only once.
using EntityIndex = Index<struct EntityTag>;

constexpr EntityIndex entity_of(TensorIndex tensor) {
  return EntityIndex(tensor.value());
}
inline EntityIndex entity_of(const Model& model, OpIndex op) {
  return EntityIndex(model.tensors.size() + static_cast<size_t>(op.value()));
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

  // What the visit of this number looked at.
  std::span<const Touch> touches_of(size_t visit) const {
    const size_t end = visit + 1 < visits.size() ? visits[visit + 1].touched : touched.size();
    return std::span(touched).subspan(visits[visit].touched, end - visits[visit].touched);
  }
  // What it asks of the clock.
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

}  // namespace pantoum::plan
