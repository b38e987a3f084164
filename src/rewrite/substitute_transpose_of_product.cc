// (A B)' = B' A': the product makes the transposed matrix at once.
//   tolerance  the same terms, which a kernel may add up in another order
//   where      a transpose of the last two dimensions that alone reads a product without a bias
//   not        products with a bias, which is one of columns
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

bool swaps_only_last_two(const std::vector<int64_t>& perm) {
  for (size_t d = 0; d < perm.size(); ++d) {
    const size_t from = d + 2 < perm.size() ? d : 2 * perm.size() - 3 - d;
    if (perm[d] != static_cast<int64_t>(from)) return false;
  }
  return perm.size() >= 2;
}

std::optional<ir::Graph> transpose_of_product(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_transpose || !is_ordinary(op) || !swaps_only_last_two(op.attrs.ints)) return std::nullopt;
  const ir::Op* product = maker_of(graph, op.inputs[0], Kind::k_matmul);
  if (product == nullptr || product->inputs.size() != 2 || !is_read_by_one(graph, op.inputs[0])) return std::nullopt;
  const auto flag = [&](size_t factor) { return int64_t{product->attrs.ints[factor] == 0 ? 1 : 0}; };
  Edit edit(graph, at);
  edit.replace(op.outputs[0], edit.op(Kind::k_matmul, product->name, {product->inputs[1], product->inputs[0]},
                                      {{flag(1), flag(0)}, {}}));
  return edit.done();
}

}  // namespace

const Rule kTransposeOfProduct{"transpose-of-product",
                               "a transposed product is the product of the transposed factors",
                               Preserves::kValues,
                               1e-5,
                               false,
                               transpose_of_product};

}  // namespace pantoum::rewrite
