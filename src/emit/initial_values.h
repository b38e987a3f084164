// What the tensors of a plan hold before the first step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "pantoum/pantoum.h"
#include "weights/safetensors.h"

namespace pantoum::emit {

// Of a tensor that lives in RAM or storage between steps.
struct FirstContent {
  std::string name;
  uint32_t tensor = 0, bytes = 0;
  std::optional<std::vector<std::byte>> data;  // none: zeros
};

struct InitialValues {
  std::vector<FirstContent> tensors;  // in the plan's order
  std::vector<std::byte> rom;         // what kernels read in place, where the plan has it
  uint64_t weight_bytes = 0;          // taken from the weights, rom included
};

// Weights by name, and zeros for the optimizer's state; the batch's tensors (`batch`), successors and what has no place
// of its own have none. E0291 the plan is damaged, or a tensor has another size than in the weights, or is in ROM and
// not among them; E0241.
[[nodiscard]] Result<InitialValues> initial_values(const pt_plan& plan, const weights::SafetensorFile& weights,
                                                   const std::vector<std::string>& batch);

}  // namespace pantoum::emit
