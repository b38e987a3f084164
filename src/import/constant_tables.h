// Tables that an exporter wrote into Constant nodes: told as tensors are, and initializers where they are to be trained.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "import/onnx_proto.h"
#include "import/shapes.h"

namespace pantoum::import {

// The tensors of `least` elements or more, by the name of the node's result; those of subgraphs, which are settled, too.
[[nodiscard]] std::map<std::string, TensorType> find_tables(const onnx::GraphProto& graph, int64_t least = 2);

// Makes those of floating-point numbers that are wanted initializers of the graph, and removes their nodes.
using WantsTable = std::function<bool(const std::string& name, const TensorType&)>;
void lift_tables(onnx::GraphProto& graph, const WantsTable& wanted);

}  // namespace pantoum::import
