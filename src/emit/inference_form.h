// A graph as ONNX has it, from the form in which it was trained to the one in which it is used.
#pragma once

#include "base/result.h"
#include "import/onnx_proto.h"

namespace pantoum::emit {

// BatchNormalization normalizes by its running statistics, has one output and ONNX's attributes alone; readers of the updated statistics read
// the statistics. Dropout is gone. Constants and initializers that were read by what has gone are gone too; everything
// else stays, names and order included. E0401 a dropout's mask is used.
Result<void> make_inference_form(onnx::GraphProto& graph);

}  // namespace pantoum::emit
