// Whether every name of a model can be written wherever names are: plans, weights, logs (JSON) and binary plans.
#pragma once

#include "base/result.h"

namespace onnx {
class GraphProto;
}

namespace pantoum::import {

// E0207 for the first name of the graph, of its subgraphs, nodes, values or dimensions that is no UTF-8, which JSON cannot
// hold, or that has a zero byte, where a name in a binary plan ends.
[[nodiscard]] Result<void> check_names(const onnx::GraphProto& graph);

}  // namespace pantoum::import
