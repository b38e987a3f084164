// What the gradient rules of the op families share.
#pragma once

#include "ir/builder.h"
#include "ir/op_registry.h"

namespace pantoum::ir {

// The gradient of an input that was broadcast: `gradient` has the output's shape and is summed to the input's.
void sum_to_input(Backward& back, size_t input, ValueId gradient);

}  // namespace pantoum::ir
