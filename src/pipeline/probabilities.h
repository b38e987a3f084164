// Outputs that are probabilities already, before a loss that takes them for logits.
#pragma once

#include <string>

#include "data/dataset.h"
#include "data/preparation.h"
#include "ir/graph.h"

namespace pantoum::pipeline {

// A warning where the model, as it begins, gives probabilities to a cross-entropy: every row of the output, of the first
// batch of `samples`, lies in [0, 1] and sums to 1. "" where it does not, and where that is not looked at: the output is
// a product or a sum, an op has no portable kernel, or the evaluation computes for more than about a second.
[[nodiscard]] std::string warn_of_probabilities(const ir::Graph& evaluation, const data::Dataset& samples,
                                                const data::Preparation& preparation);

}  // namespace pantoum::pipeline
