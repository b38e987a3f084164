// Several ops of a forward graph that are one op: less to keep for the gradient, and one pass over memory in place of
// many. Each takes a valid graph before autodiff and returns it with what it found; names of outputs stay.
#pragma once

#include "ir/graph.h"

namespace pantoum::rewrite {

// matmul + a vector that lives between steps -> matmul with a bias. The same bits.
[[nodiscard]] ir::Graph fuse_product_bias(ir::Graph graph);

// x / 2 (1 + erf(x / sqrt 2)), in the orders that exporters write it -> gelu. The same up to rounding.
[[nodiscard]] ir::Graph fuse_gelu(ir::Graph graph);

}  // namespace pantoum::rewrite
