// The update of an embedding table without its gradient.
#pragma once

#include <optional>

#include "autodiff/autodiff.h"
#include "ir/builder.h"

namespace pantoum::autodiff {

// Where the gradient of `parameter` is what gather_grad scatters into rows and nothing else, and the optimizer leaves a
// row without gradient as it is (SGD without momentum and weight decay): the op that updates the rows alone, with the
// same bits as gather_grad and sgd. None otherwise. The gradient's op is left behind, unused.
[[nodiscard]] std::optional<ir::ValueId> append_row_update(ir::Builder& builder, const Sgd& sgd, ir::ValueId parameter,
                                                           ir::ValueId gradient);

}  // namespace pantoum::autodiff
