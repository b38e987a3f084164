// What a node gives, by the rules that the model is read by: a model of this node alone is read, once for each batch.
#pragma once

#include <vector>

#include "base/result.h"
#include "layers/state.h"

namespace pantoum::layers {

// The types of `outputs` outputs. The time does not depend on the rest of the model. E0211, E0401 with the node's problem as the message,
// or E0211 where the outputs of different batches have different dimensions.
[[nodiscard]] Result<std::vector<KnownType>> infer_node(const State& state, const NodeRecord& node, size_t outputs);

}  // namespace pantoum::layers
