// The backward sweep: gradients of a loss, appended to the graph that computes it.
#pragma once

#include <functional>
#include <vector>

#include "ir/builder.h"

namespace pantoum::autodiff {

// Called as soon as a trained parameter's gradient is complete; what it appends stands right behind the last op of that
// gradient.
using OnGradient = std::function<void(ir::ValueId parameter, ir::ValueId gradient)>;

// A loss op's output and its part in what is minimized.
struct WeightedLoss {
  ir::ValueId loss = ir::kNone;
  double weight = 1;
};

// Appends the gradients of the weighted sum of `losses` by every trainable parameter that it depends on, in this order:
// an op's parameters first, then its input; ops on parameters alone (a transposed weight) as early as possible. Nothing
// is made that no parameter needs. Errors: E0402 ops on the way have no gradient (all of them as notes); E0405 the loss
// depends on no trainable parameter.
[[nodiscard]] Result<void> append_backward(ir::Builder& builder, const std::vector<WeightedLoss>& losses,
                                           const OnGradient& on_gradient);

}  // namespace pantoum::autodiff
