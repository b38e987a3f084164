// Backward needs less of an activation than forward made: its signs for relu, a tap per window for max pooling.
#pragma once

#include "ir/graph.h"

namespace pantoum::rewrite {

// The same step with more ways to compute it: beside an activation that backward reads for gradients of relu, leaky
// relu and max pooling alone, an optional op that makes its signs or taps, and on each gradient an alternative that
// reads those in place of the activation. Which it is, is the planner's choice; values are the same bit for bit. An
// activation that some other op of backward needs (a convolution's, for its weight's gradient) is left alone: nothing
// would be saved.
//   graph  a training step, valid
[[nodiscard]] ir::Graph compact_activations(const ir::Graph& graph);

}  // namespace pantoum::rewrite
