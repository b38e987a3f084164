// A B and A C are the halves of A [B C], biases side by side too. Of weights' gradients too: X' dY and X' dZ.
//   tolerance  each element is the same sum; kernels may add it up in another order at other extents
//   where      the flags, the batch and the number of biases are the same, B and C differ in their columns alone
//   not        the same factor twice (merge-equal-ops); what the one product needs of the other
#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

std::optional<ir::Graph> merge_products(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != ir::Kind::k_matmul || !is_bilinear(op)) return std::nullopt;
  return merge_sharing(graph, at, 0);
}

}  // namespace

const Rule kMergeProducts{"merge-products",
                          "products of one A are one product, the other factors side by side",
                          Preserves::kValues,
                          1e-5,
                          false,
                          merge_products};

}  // namespace pantoum::rewrite
