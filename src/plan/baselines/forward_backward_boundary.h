// Where forward ends and backward begins, on a graph that does not say.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {

// The stage whose end most op-made tensors cross, the first of those: a step makes activations until the loss and uses
// them up behind it. Reads by updates do not count (weight gradients pile up until then). 0: nothing crosses.
[[nodiscard]] int32_t find_turn(const Question& question);

// The ops that the choices need, by stage order.
[[nodiscard]] std::vector<int32_t> needed_in_order(const Question& question);

}  // namespace pantoum::plan::baseline
