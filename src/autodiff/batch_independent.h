// Which ops work on each sample of a batch by itself.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace pantoum::autodiff {

// Of each output: is its row (dimension 0, of `batch` rows) made from the same rows of the operands that
// `changes` (by value: with the batch), and from nothing else that differs from row to row? Kernels add up in a fixed
// order that depends on shapes alone, so that such a row has the same bits wherever in a batch its sample stands.
// Kinds that are not known here are not batch independent.
[[nodiscard]] bool is_batch_independent(const ir::Graph& graph, const ir::Op& op, const std::vector<char>& changes,
                                        int64_t batch);

}  // namespace pantoum::autodiff
