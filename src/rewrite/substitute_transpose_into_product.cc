// A product reads its factors either way round: a transpose of the last two dimensions before it is a flag.
//   tolerance  the portable kernels give the same bits; those of a back end may add up in another order
//   where      a factor is a transpose that swaps the last two dimensions and leaves the others
//   not        transposes of other dimensions
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

bool swaps_last_two(const std::vector<int64_t>& perm) {
  const size_t rank = perm.size();
  if (rank < 2) return false;
  for (size_t d = 0; d + 2 < rank; ++d)
    if (perm[d] != static_cast<int64_t>(d)) return false;
  return perm[rank - 1] == static_cast<int64_t>(rank) - 2;
}

std::optional<ir::Graph> transpose_into_product(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_matmul || !is_ordinary(op)) return std::nullopt;
  std::vector<ir::ValueId> inputs = op.inputs;
  ir::Attrs attrs = op.attrs;
  for (const size_t factor : {size_t{0}, size_t{1}}) {
    const ir::Op* transpose = maker_of(graph, inputs[factor], Kind::k_transpose);
    if (transpose == nullptr || !swaps_last_two(transpose->attrs.ints)) continue;
    inputs[factor] = transpose->inputs[0];
    attrs.ints[factor] = attrs.ints[factor] == 0 ? 1 : 0;
  }
  if (inputs == op.inputs) return std::nullopt;
  Edit edit(graph, at);
  edit.replace(op.outputs[0], edit.op(Kind::k_matmul, op.name, std::move(inputs), attrs));
  return edit.done();
}

}  // namespace

const Rule kTransposeIntoProduct{
    "transpose-into-product", "a transpose before a product becomes its flag", Preserves::kValues, 1e-5, false,
    transpose_into_product};

}  // namespace pantoum::rewrite
