// A C and B C are the halves of [A; B] C.
//   tolerance  each element is the same sum; kernels may add it up in another order at other extents
//   where      the flags and the batch are the same, A and B differ in their rows alone, the bias is the same or none
//   not        the same factor twice (merge-equal-ops); what the one product needs of the other
#include "rewrite/bilinear.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

std::optional<ir::Graph> merge_product_rows(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != ir::Kind::k_matmul || !is_bilinear(op)) return std::nullopt;
  return merge_sharing(graph, at, 1);
}

}  // namespace

const Rule kMergeProductRows{"merge-product-rows",
                             "products with one B are one product, the other factors one below the other",
                             Preserves::kValues,
                             1e-5,
                             false,
                             merge_product_rows};

}  // namespace pantoum::rewrite
