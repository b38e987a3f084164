// Substitutions that a search chooses among: each makes an equivalent graph by a change at one place.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "ir/graph.h"

namespace pantoum::rewrite {

enum class Preserves : uint8_t {
  kBits,   // every output, result and successor has the same bits
  kValues  // up to the rounding of sums in another order; only with --allow-numerics-change
};

// One substitution.
struct Rule {
  const char* name;  // of --disable, reports and benchmarks: "merge-convolutions"
  const char* does;  // one line
  Preserves preserves;
  // Of kValues: a result differs by no more than this share of the largest sum of magnitudes that is added up in it,
  // in float32. 0 for kBits.
  double tolerance = 0;
  // Not valid where parameters are trained: it changes what a parameter is, or keeps what forward computes of them.
  bool inference_only = false;
  // The valid graph with the rule applied at this op of a valid graph; none where it does not fit there. Names of
  // inputs, labels, outputs, results, parameters, buffers and state stay. Cost: that of a copy of the graph where it
  // fits; constant where the kinds of the op and its neighbours do not, else at most a few passes over the ops.
  std::optional<ir::Graph> (*apply)(const ir::Graph& graph, ir::OpId at);
};

// All of them, in the order in which a search tries them.
[[nodiscard]] std::span<const Rule> rules();
// By name; null: there is none.
[[nodiscard]] const Rule* find_rule(const char* name);

// The substitutions, each as `Rule::apply` (rule.h) has it. What is written where each is defined says why it holds, within
// which tolerance, where it fits and what it leaves alone; rules.cc lists them in the order in which a search tries them.

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
