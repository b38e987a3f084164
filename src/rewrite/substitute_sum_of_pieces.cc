// Sums of the pieces of a split over other dimensions are the pieces of the sum: of biases' gradients behind merged
// convolutions.
//   tolerance  the same terms, which a kernel may add up in another order
//   where      every piece of a split is read by a reduce_sum, reduce_mean or reduce_max over the same dimensions, not those
//              of the split
//   not        sums along the split; pieces that nobody sums
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

const ir::Op* sum_of_piece(const ir::Graph& graph, const ir::Op& like, ir::ValueId piece) {
  for (const ir::OpId reader : readers_of(graph, piece)) {
    const ir::Op& other = graph.op(reader);
    if (other.kind == like.kind && other.attrs == like.attrs && is_ordinary(other)) return &other;
  }
  return nullptr;
}

std::optional<ir::Graph> sum_of_pieces(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_reduce_sum && op.kind != Kind::k_reduce_mean && op.kind != Kind::k_reduce_max)
    return std::nullopt;
  const ir::Op* split = maker_of(graph, op.inputs[0], Kind::k_split);
  if (split == nullptr || split->outputs.size() < 2 || split->outputs[0] != op.inputs[0] || !is_ordinary(op))
    return std::nullopt;
  const int64_t axis = split->attrs.ints[0], mask = op.attrs.ints[0];
  if ((mask >> axis & 1) != 0) return std::nullopt;
  std::vector<const ir::Op*> sums{&op};
  std::vector<ir::TensorType> types{graph.value(op.outputs[0]).type};
  for (size_t piece = 1; piece < split->outputs.size(); ++piece) {
    sums.push_back(sum_of_piece(graph, op, split->outputs[piece]));
    if (sums.back() == nullptr) return std::nullopt;
    types.push_back(graph.value(sums.back()->outputs[0]).type);
  }
  int64_t kept = 0;  // dimensions before the split's
  for (int64_t d = 0; d < axis; ++d) kept += (mask >> d & 1) == 0 ? 1 : 0;
  Edit edit(graph, at);
  const ir::ValueId sum = edit.op(op.kind, op.name, {split->inputs[0]}, op.attrs);
  const auto pieces = edit.add(Kind::k_split, op.name + ".split", {sum}, {{kept}, {}}, types);
  for (size_t piece = 0; piece < sums.size() && piece < pieces.size(); ++piece)
    edit.replace(sums[piece]->outputs[0], pieces[piece]);
  return edit.done();
}

}  // namespace

const Rule kSumOfPieces{
    "sum-of-pieces", "sums of all pieces of a split are pieces of one sum", Preserves::kValues, 2e-6, false,
    sum_of_pieces};

}  // namespace pantoum::rewrite
