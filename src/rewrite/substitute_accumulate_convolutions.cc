// conv(X, W) + conv(Z, V) = conv([X Z], [W V]) over the channels of both; sums of gradients of images over the outputs of
// both (what two convolutions of one image send back), sums of gradients of weights over the samples of both (one weight
// used twice).
//   tolerance  the same terms in another order
//   where      the addition alone reads both; strides, padding, dilation and extents are the same, one group, one bias at
//              most
//   not        groups; kernels of other extents
#include "rewrite/accumulate.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

std::optional<ir::Graph> accumulate_convolutions(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != ir::Kind::k_add || !is_ordinary(op)) return std::nullopt;
  const ir::Op* first = maker_of(graph, op.inputs[0]);
  if (first == nullptr || first->kind == ir::Kind::k_matmul || !is_bilinear(*first)) return std::nullopt;
  return accumulate(graph, at);
}

}  // namespace

const Rule kAccumulateConvolutions{"accumulate-convolutions",
                                   "the sum of two convolutions or of their gradients is one",
                                   Preserves::kValues,
                                   1e-5,
                                   false,
                                   accumulate_convolutions};

}  // namespace pantoum::rewrite
