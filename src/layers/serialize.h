// The model of a builder as bytes of ONNX.
#pragma once

#include <string>

#include "base/result.h"
#include "layers/state.h"

namespace pantoum::layers {

// A ModelProto of opset 21 in training form; the batch is a named dimension. The same calls give the same bytes.
// E0213 with every problem of the builder; no input or output; more than 2 GiB.
[[nodiscard]] Result<std::string> serialize(const State& state);

}  // namespace pantoum::layers
