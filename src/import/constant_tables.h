// Tables that an exporter wrote into Constant nodes: told as tensors are, and initializers where they are to be trained.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "import/onnx_proto.h"
#include "import/shapes.h"

namespace pantoum::import {

// The tensors of two elements or more, by the name of the node's result.
[[nodiscard]] std::map<std::string, TensorType> find_tables(const onnx::GraphProto& graph);

// Makes those of floating-point numbers whose name is wanted initializers, and removes their nodes.
void lift_tables(onnx::GraphProto& graph, const std::function<bool(const std::string&)>& wanted);

}  // namespace pantoum::import
