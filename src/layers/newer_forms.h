// Nodes of older operator sets in the forms of opset 21.
#pragma once

#include <vector>

#include "import/onnx_messages.h"

namespace pantoum::layers {

// Appends nodes of opset 21 to `to` that compute what the node of this opset (11 to 21) does. A form that has no newer one stays as it is: the import refuses
// it, by its name. Values that are made up have names that begin with the node's first output.
void append_newer(const onnx::NodeProto& node, int64_t opset, std::vector<onnx::NodeProto>& to);

}  // namespace pantoum::layers
