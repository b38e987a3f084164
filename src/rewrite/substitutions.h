// The substitutions, each as `Rule::apply` (rule.h) has it. What is written where each is defined says why it holds, within
// which tolerance, where it fits and what it leaves alone; rules.cc lists them in the order in which a search tries them.
#pragma once

#include <optional>

#include "ir/graph.h"

namespace pantoum::rewrite {

using Apply = std::optional<ir::Graph>(const ir::Graph& graph, ir::OpId at);

// substitute_merges.cc
Apply merge_equal_ops, merge_transposes, merge_reshapes, merge_scales, drop_zero_terms;
// substitute_moves.cc
Apply sink_transpose, sink_reshape, sink_split;
// substitute_products.cc
Apply fold_bias, transpose_into_product, transpose_of_product;
// substitute_convolutions.cc
Apply merge_convolutions, merge_convolution_batches, accumulate_convolutions;
// substitute_folds.cc
Apply fold_parameters, fold_batch_norm, fold_scale_shift;

}  // namespace pantoum::rewrite
