// Transfer learning: a network as a frozen backbone, which need be computed once for every sample, and a head that is
// trained on what it gives.
#pragma once

#include "ir/graph.h"

namespace pantoum::autodiff {

struct FeatureCut {
  ir::Graph backbone;  // the model's inputs -> results: the features
  ir::Graph head;      // inputs: the features, and those of the model that it reads itself -> the model's outputs
};

// Cuts a forward graph (with frozen parameters and statistics) as far down as values depend on no trained parameter, no
// statistic of the batch, nothing drawn at random, and on each sample by itself. Both graphs keep every parameter,
// buffer and constant. E0123 nothing can be computed ahead, with the ops that hinder it.
[[nodiscard]] Result<FeatureCut> cut_features(const ir::Graph& forward);

}  // namespace pantoum::autodiff
