// conv(X, W) and conv(Z, W) are the samples of conv([X; Z], W), and so are the gradients of their images.
//   tolerance  each element is the same sum; kernels may add it up in another order at other extents
//   where      conv2d, conv3d, and their dx, of one weight, one group, whose images differ in their number alone
//   not        groups; another bias
#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

std::optional<ir::Graph> merge_convolution_batches(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const bool of_images = is_convolution(op) || op.kind == ir::Kind::k_conv2d_dx || op.kind == ir::Kind::k_conv3d_dx;
  if (!of_images || !is_bilinear(op)) return std::nullopt;
  return merge_sharing(graph, at, 1);
}

}  // namespace

const Rule kMergeConvolutionBatches{"merge-convolution-batches",
                                    "convolutions with one weight are one over a larger batch",
                                    Preserves::kValues,
                                    1e-5,
                                    false,
                                    merge_convolution_batches};

}  // namespace pantoum::rewrite
