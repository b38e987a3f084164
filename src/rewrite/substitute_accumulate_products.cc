// A B + C D = [A C] [B; D]: the second product is added up in the first one's sum (what a product with beta = 1 is for;
// no kernel here has beta).
//   tolerance  the same terms in another order
//   where      the addition alone reads both, and broadcasts neither; the flags are the same; one bias at most
//   not        sums with what is no product; products that share a factor cost less by factor-sum
#include "rewrite/accumulate.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

std::optional<ir::Graph> accumulate_products(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != ir::Kind::k_add || !is_ordinary(op) || maker_of(graph, op.inputs[0], ir::Kind::k_matmul) == nullptr)
    return std::nullopt;
  return accumulate(graph, at);
}

}  // namespace

const Rule kAccumulateProducts{
    "accumulate-products", "the sum of two products is one product", Preserves::kValues, 1e-5, false,
    accumulate_products};

}  // namespace pantoum::rewrite
