// dx(dY, W) and dx(dY, V) are the channels of dx(dY, [W V]): of two convolutions whose outputs were added.
//   tolerance  each element is the same sum; kernels may add it up in another order at other extents
//   where      conv2d_dx and conv3d_dx of one dY with the same attributes, one group
//   not        groups; images of other extents
#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

std::optional<ir::Graph> merge_input_gradients(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const bool of_input = op.kind == ir::Kind::k_conv2d_dx || op.kind == ir::Kind::k_conv3d_dx;
  if (!of_input || !is_bilinear(op)) return std::nullopt;
  return merge_sharing(graph, at, 0);
}

}  // namespace

const Rule kMergeInputGradients{
    "merge-input-gradients", "gradients of images that come from one gradient are one", Preserves::kValues, 1e-5, false,
    merge_input_gradients};

}  // namespace pantoum::rewrite
