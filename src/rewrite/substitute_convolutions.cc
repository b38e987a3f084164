// conv(X, W) and conv(X, V) are the channels of conv(X, [W; V]), biases side by side too. Of two and three dimensions.
//   tolerance  each element is the same sum; kernels may add it up in another order at other extents
//   where      strides, padding, dilation and kernel's extents are the same, one group
//   not        groups (the outputs would have to be mixed); other extents (enlarge-kernel first)
#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

std::optional<ir::Graph> merge_convolutions(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (!is_convolution(op) || !is_bilinear(op)) return std::nullopt;
  return merge_sharing(graph, at, 0);
}

}  // namespace

const Rule kMergeConvolutions{"merge-convolutions",
                              "convolutions of one image are one, the weights side by side",
                              Preserves::kValues,
                              1e-5,
                              false,
                              merge_convolutions};

}  // namespace pantoum::rewrite
