// dw(X, dY) and dw(X, dZ) are the outputs of dw(X, [dY dZ]); dw(X, dY) and dw(Z, dY) are the inputs of dw([X Z], dY).
//   tolerance  each element is the same sum; kernels may add it up in another order at other extents
//   where      conv2d_dw and conv3d_dw with the same attributes and kernel's extents, one group
//   not        groups; other extents. Of matrices: merge-products, merge-product-rows
#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

std::optional<ir::Graph> merge_weight_gradients(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  const bool of_weight = op.kind == ir::Kind::k_conv2d_dw || op.kind == ir::Kind::k_conv3d_dw;
  if (!of_weight || !is_bilinear(op)) return std::nullopt;
  auto merged = merge_sharing(graph, at, 0);
  return merged ? std::move(merged) : merge_sharing(graph, at, 1);
}

}  // namespace

const Rule kMergeWeightGradients{
    "merge-weight-gradients", "gradients of weights that share X or dY are one", Preserves::kValues, 1e-5, false,
    merge_weight_gradients};

}  // namespace pantoum::rewrite
