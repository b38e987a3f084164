// Open dimensions of a model's inputs, bound by the user.
#pragma once

#include <string>
#include <vector>

#include "import/model.h"

namespace pantoum::import {

// Puts numbers in place of open dimensions in the model's message.
//   given    "INPUT=N,3,224,224": the dimensions of an input, where a word leaves the first one to the batch; a dimension of the same
//            name in other inputs is bound, too. "NAME=16": a named dimension
//   batch    the batch that the caller chose, or 0
//   errors   E0210, which names the input and the dimension: no such input or name, not as many dimensions, a dimension that the file
//            fixes, two numbers for one dimension
[[nodiscard]] Result<void> bind_shapes(Model& model, const std::vector<std::string>& given, int64_t batch);

// What to write for the inputs whose dimensions are open: "--shape x=N,3,H,W, with numbers in place of H and W".
[[nodiscard]] std::string shapes_to_give(const Model& model);

}  // namespace pantoum::import
