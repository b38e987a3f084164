// Transfer learning: a network as a frozen backbone, which need be computed once for every sample, and a head that is
// trained on what it gives.
#pragma once

#include <vector>

#include "autodiff/autodiff.h"

namespace pantoum::autodiff {

struct FeatureCut {
  Graph backbone;  // the model's inputs -> results: the features
  Graph head;      // inputs: the features, and those of the model that it reads itself -> the model's outputs
};

// Cuts a forward graph (with frozen parameters and statistics) as far down as values depend on no trained parameter, no
// statistic of the batch, nothing drawn at random, and on each sample by itself. Both graphs keep every parameter,
// buffer and constant. E0123 nothing can be computed ahead, with the ops that hinder it.
[[nodiscard]] Result<FeatureCut> cut_features(const Graph& forward);

// Which ops work on each sample of a batch by itself.

// Of each output: is its row (dimension 0, of `batch` rows) made from the same rows of the operands that
// `changes` (by value: with the batch), and from nothing else that differs from row to row? Kernels add up in a fixed
// order that depends on shapes alone, so that such a row has the same bits wherever in a batch its sample stands.
// Kinds that are not known here are not batch independent.
[[nodiscard]] bool is_batch_independent(const Graph& graph, const Op& op, const std::vector<char>& changes,
                                        int64_t batch);

}  // namespace pantoum::autodiff
