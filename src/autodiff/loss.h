// Where the losses take hold of a model's outputs.
#pragma once

#include <string>
#include <vector>

#include "autodiff/autodiff.h"
#include "ir/builder.h"

namespace pantoum::autodiff {

struct LossSite {
  LossTerm term;
  std::string suffix;  // of names that belong to it: "", or ".<output>" beside others
  ir::ValueId prediction = ir::kNone, target = ir::kNone;  // what the loss op reads
  ir::ValueId label = ir::kNone;  // the input "label": i64 [N,..] where classes are told, else of the prediction's type
  ir::ValueId loss = ir::kNone, weighted = ir::kNone;
};

struct Losses {
  std::vector<LossSite> sites;
  ir::ValueId sum = ir::kNone;  // weighted; named "loss"
};

// Appends for every term the label input and the loss op, and their weighted sum. For losses of logits a final Softmax
// or LogSoftmax over the classes (a final Sigmoid for binary ones) is passed over, and graph.notes says so. Classes on
// the last of several dimensions are read as [positions, classes]: a view. Errors: E0403.
[[nodiscard]] Result<Losses> add_losses(ir::Builder& builder, const std::vector<LossTerm>& terms);

}  // namespace pantoum::autodiff
