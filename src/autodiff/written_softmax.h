// A softmax or log-softmax that a model writes out as arithmetic.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace pantoum::autodiff {

struct FoundSoftmax {
  ir::ValueId logits = ir::kNone;
  int64_t axis = 0;
  bool logarithm = false;
};

// Is the value a softmax, or the logarithm of one? Found are the ops softmax and log_softmax, and
//   e / sum(e),                  e = exp(z)             z = x, or x - max(x) along the axis: the logits are x
//   e * (1 / sum(e))
//   log(softmax)
//   z - log(sum(exp(z)))
//   x - (log(sum(exp(x - m))) + m)                      m = max(x)
// A sum or maximum may lose its dimension and get it back by a reshape, or be expanded. What is subtracted inside, other
// than that maximum, belongs to the logits.
[[nodiscard]] std::optional<FoundSoftmax> find_softmax(const ir::Graph& graph, ir::ValueId value);

// The op that computes a value, looking through aliases of the same shape; null: none.
[[nodiscard]] const ir::Op* maker_of(const ir::Graph& graph, ir::ValueId value);

}  // namespace pantoum::autodiff
