// Where forward ends and backward begins, on a graph that does not say.
#pragma once

#include <vector>

#include "plan/simulate/model.h"

namespace pantoum::plan::baseline {

struct Task;

// The stage whose end most op-made tensors cross, the first of those: a step makes activations until the loss and uses
// them up behind it. Reads by updates do not count (weight gradients pile up until then). 0: nothing crosses.
[[nodiscard]] Stage find_forward_backward_boundary(const Task& task);

// The ops that the choices need, by stage order.
[[nodiscard]] std::vector<OpIndex> needed_in_order(const Task& task);

}  // namespace pantoum::plan::baseline
