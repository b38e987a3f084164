// An instruction of a plan before it has offsets.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/simulate/indices.h"
#include "problem/plan.h"

namespace pantoum::plan {

using problem::Do;

struct Event {
  Do what = Do::kCompute;
  int32_t subject = 0;                  // op or tensor
  int32_t choice = 0;                   // into OpModel::choices
  std::vector<TensorIndex> taken_over;  // compute: by write, the tensor whose bytes it takes, or none
};

}  // namespace pantoum::plan
