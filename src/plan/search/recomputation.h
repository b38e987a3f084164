// What it takes to have a tensor recomputed: the inputs of its op, where they are wanted.
#pragma once

#include <functional>
#include <vector>

#include "plan/simulate/simulate.h"

namespace pantoum::plan {

// The interval's tensor is dropped at its beginning, and those inputs of its op that `keep` wants are in RAM at its use,
// where it is recomputed: each is retained from the last time that it is there on, beyond its own last use if need be. The
// first change is the interval's. The tensor has a producer. Cost: linear in the intervals of the inputs.
[[nodiscard]] std::vector<Simulator::Change> dropped_with_inputs(const Model& model, const Policy& policy,
                                                                 IntervalIndex interval,
                                                                 const std::function<bool(TensorIndex)>& keep);

}  // namespace pantoum::plan
