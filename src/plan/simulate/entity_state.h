// What a simulation knows of each tensor, and of each op that may run only once.
#pragma once

#include <cstdint>

#include "plan/simulate/model.h"

namespace pantoum::plan {

// A tensor or, after the tensors, an op that may run only once.
using EntityIndex = Index<struct EntityTag>;

[[nodiscard]] constexpr EntityIndex entity_of(TensorIndex tensor) {
  return EntityIndex(tensor.value());
}
[[nodiscard]] inline EntityIndex entity_of(const Model& model, OpIndex op) {
  return EntityIndex(model.tensors.size() + static_cast<size_t>(op.value()));
}
[[nodiscard]] inline size_t count_entities(const Model& model) {
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

  [[nodiscard]] bool has(uint32_t flag) const { return (bits_ & flag) != 0; }
  void set(uint32_t flags) { bits_ |= flags; }
  void clear(uint32_t flags) { bits_ &= ~flags; }
  void put(uint32_t flags, bool on) { bits_ = on ? bits_ | flags : bits_ & ~flags; }
  // All other flags, and the home, are cleared.
  void keep_only(uint32_t flags) { bits_ &= flags; }

  // Does it occupy the bytes of this home since the start?
  [[nodiscard]] bool occupies(TensorIndex home) const {
    return bits_ >> kHomeShift == static_cast<uint32_t>(home.value()) + 1;
  }
  // The home that it occupies since the start, or none.
  [[nodiscard]] TensorIndex occupied() const { return TensorIndex(static_cast<int32_t>(bits_ >> kHomeShift) - 1); }
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
[[nodiscard]] inline EntityState first_state(const Model& model, EntityIndex entity) {
  EntityState state;
  const TensorIndex tensor(entity.value());
  if (!model.tensors.contains(tensor)) return state;
  const problem::Home start = model.tensors[tensor].start;
  if (start == problem::Home::kAux) state.set(EntityState::kInStorage);
  if (start != problem::Home::kRam) return state;
  state.set(EntityState::kInRam | EntityState::kRetained | EntityState::kHomeBusy);
  state.occupy(tensor);
  return state;
}

}  // namespace pantoum::plan
