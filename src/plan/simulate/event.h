// An instruction of a plan before it has offsets.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/simulate/model.h"

namespace pantoum::plan {

struct Event {
  Do what = Do::kCompute;
  int32_t subject = 0;                  // op or tensor
  int32_t choice = 0;                   // into OpModel::choices
  std::vector<TensorIndex> taken_over;  // compute: by write, the tensor whose bytes it takes, or none
};

// The kernel that a compute runs.
inline const ChoiceModel& kernel_of(const Model& model, const Event& event) {
  return model.ops[OpIndex(event.subject)].choices[base::position_of(event.choice)];
}

}  // namespace pantoum::plan
