// The sum over k of a[.., m, k, 1] b[.., 1, k, n] is the product of the matrices: no tensor of all m k n products is made.
//   tolerance  the same terms in another order
//   where      a reduce_sum over the last dimension but one that alone reads a mul, of which one factor has 1 as last
//              extent and the other as last but two; either may have no dimensions before those; not both 1 by 1
//   not        sums over other dimensions or several; means (mean-as-sum first)
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

// a of the shape [.., m, k, 1], or null.
bool is_column_factor(const ir::Shape& shape, const ir::Shape& wide) {
  return shape.size() == wide.size() && shape.back() == 1 && wide.back() != 1 &&
         shape[shape.size() - 2] == wide[wide.size() - 2] && shape[shape.size() - 3] == wide[wide.size() - 3];
}
bool is_row_factor(const ir::Shape& shape, const ir::Shape& wide) {
  const size_t rank = shape.size();
  return rank >= 2 && shape.back() == wide.back() && shape[rank - 2] == wide[wide.size() - 2] &&
         (rank == 2 || shape[rank - 3] == 1);
}

std::optional<ir::Graph> sum_of_outer(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_reduce_sum || !is_ordinary(op)) return std::nullopt;
  const ir::Op* mul = maker_of(graph, op.inputs[0], Kind::k_mul);
  if (mul == nullptr) return std::nullopt;
  const ir::TensorType wide = graph.value(op.inputs[0]).type;
  const size_t rank = wide.shape.size();
  if (rank < 3 || !ir::is_float(wide.dtype) || op.attrs.ints[0] != int64_t{1} << (rank - 2)) return std::nullopt;
  for (const size_t first : {size_t{0}, size_t{1}}) {
    ir::Shape a = graph.value(mul->inputs[first]).type.shape, b = graph.value(mul->inputs[1 - first]).type.shape;
    if (!is_column_factor(a, wide.shape) || !is_row_factor(b, wide.shape)) continue;
    if (!is_read_by_one(graph, op.inputs[0])) return std::nullopt;
    Edit edit(graph, at);
    a.pop_back();
    if (b.size() > 2) b.erase(b.end() - 3);
    const ir::ValueId left = edit.reshape(op.name + ".rows", mul->inputs[first], a),
                      right = edit.reshape(op.name + ".columns", mul->inputs[1 - first], b);
    edit.replace(op.outputs[0], edit.op(Kind::k_matmul, op.name, {left, right}, {{0, 0}, {}}));
    return edit.done();
  }
  return std::nullopt;
}

}  // namespace

const Rule kSumOfOuter{
    "sum-of-outer", "a sum of outer products is a product of matrices", Preserves::kValues, 1e-5, false, sum_of_outer};

}  // namespace pantoum::rewrite
