// Tells when each gradient of a step is final, while the program that makes them still runs.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/result.h"
#include "host/engine.h"
#include "pantoum/pantoum.h"
#include "train/tensor_table.h"

namespace pantoum::train {

// `sum` is one of TensorTable::sums; `data` is all of it, or empty where it lives in storage. What is written there
// lasts until the update. Called on the trainer's thread, between two instructions; must not throw.
using OnGradient = std::function<void(const PlanTensor& sum, std::span<std::byte> data)>;

// Runs a program and calls back with each sum as soon as the program neither writes nor reads it any more. Sums in RAM come in the order of
// the program; those in storage, or read back from it, after the program.
class FinalGradients {
 public:
  // E0253 a program that the table's plan does not hold.
  [[nodiscard]] static Result<FinalGradients> of(const pt_plan& plan, uint32_t program,
                                                 const std::vector<PlanTensor>& sums);

  // `on_gradient` may be empty. Allocates nothing.
  [[nodiscard]] pt_status run(host::Engine& engine, const pt_scalars& scalars, const OnGradient& on_gradient);

 private:
  struct Event {
    uint32_t instruction;
    PlanTensor sum;
    std::span<std::byte> data = {};
  };
  void tell(uint32_t instruction);

  uint32_t program_ = 0;
  std::vector<Event> events_;  // in order
  size_t told_ = 0;
  const OnGradient* on_gradient_ = nullptr;
};

}  // namespace pantoum::train
