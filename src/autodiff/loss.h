// Where the loss takes hold of a model's output.
#pragma once

#include "autodiff/autodiff.h"
#include "ir/builder.h"

namespace pantoum::autodiff {

struct LossSite {
  ir::ValueId prediction = ir::kNone;  // logits [N,C,..], or what mse compares
  ir::ValueId label = ir::kNone;       // the input "label": i64 [N,..] for cross-entropy, else of the prediction's type
  ir::ValueId loss = ir::kNone;
};

// Appends the label input and the loss op on the first output. For cross-entropy a final Softmax or LogSoftmax over the
// classes is passed over, and graph.notes says so; classes on the last of several dimensions are moved to dimension 1.
// Errors: E0403.
[[nodiscard]] Result<LossSite> add_loss(ir::Builder& builder, Loss loss);

}  // namespace pantoum::autodiff
