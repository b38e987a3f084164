// What backward reads of a normalized image, made again from the image that the normalization keeps anyway.
#pragma once

#include "ir/graph.h"

namespace pantoum::rewrite {

// Behind a batch norm stand its activation, a sum with a skip connection, a concatenation: cheap ops of which backward
// reads the results (a convolution's weight gradient reads its image), while the gradient of the norm reads what the
// norm read. Such results are made again right before backward reads them first, from that image and the statistics of
// the batch, by ops of the same bits; the first ones are free after forward. Of a convolution, norm and activation one
// full image is kept in place of two. Only where the step then takes less RAM, as it would run without a plan; results
// that do not lower its peak are kept.
//   graph    valid; a training step (nothing happens to others)
//   returns  the step with the same bits, names of outputs, parameters and states
//   cost     a walk through the graph for each such result; for very large graphs, for some of them
[[nodiscard]] ir::Graph remake_activations(const ir::Graph& graph);

}  // namespace pantoum::rewrite
