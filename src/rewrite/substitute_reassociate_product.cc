// (A B) C = A (B C), whichever takes fewer multiplications.
//   tolerance  sums of products of three numbers in another order; the measure is the sum of |a| |b| |c|
//   where      matrices of two dimensions, flags of any kind, an inner product without a bias that nobody else reads; the
//              other order takes strictly less, so that the rule never undoes itself
//   not        batches of matrices; chains of four at once (two steps)
#include "rewrite/edit.h"
#include "rewrite/substitutions.h"

namespace pantoum::rewrite {
namespace {

using ir::Kind;

struct Factor {
  ir::ValueId value;
  bool transposed;
};

struct Chain {
  Factor a, b, c;  // A B C
};

int64_t rows_of(const ir::Graph& graph, const Factor& factor) {
  return graph.value(factor.value).type.shape[factor.transposed ? 1 : 0];
}
int64_t columns_of(const ir::Graph& graph, const Factor& factor) {
  return graph.value(factor.value).type.shape[factor.transposed ? 0 : 1];
}

// The factors where the product of the first or last two of them is `inner`, which `outer` reads at `side`.
Chain chain_of(const ir::Op& outer, const ir::Op& inner, size_t side) {
  const bool turned = outer.attrs.ints[side] != 0;
  Factor left{inner.inputs[0], inner.attrs.ints[0] != 0}, right{inner.inputs[1], inner.attrs.ints[1] != 0};
  if (turned) {
    std::swap(left, right);
    left.transposed = !left.transposed;
    right.transposed = !right.transposed;
  }
  const Factor third{outer.inputs[1 - side], outer.attrs.ints[1 - side] != 0};
  return side == 0 ? Chain{left, right, third} : Chain{third, left, right};
}

bool all_matrices(const ir::Graph& graph, const Chain& chain) {
  for (const Factor& factor : {chain.a, chain.b, chain.c})
    if (graph.value(factor.value).type.shape.size() != 2) return false;
  return true;
}

// Is A (B C) cheaper than (A B) C?
bool right_is_cheaper(const ir::Graph& graph, const Chain& chain) {
  const auto m = static_cast<double>(rows_of(graph, chain.a)), k = static_cast<double>(columns_of(graph, chain.a)),
             l = static_cast<double>(columns_of(graph, chain.b)), n = static_cast<double>(columns_of(graph, chain.c));
  return k * l * n + m * k * n < m * k * l + m * l * n;
}
bool left_is_cheaper(const ir::Graph& graph, const Chain& chain) {
  const auto m = static_cast<double>(rows_of(graph, chain.a)), k = static_cast<double>(columns_of(graph, chain.a)),
             l = static_cast<double>(columns_of(graph, chain.b)), n = static_cast<double>(columns_of(graph, chain.c));
  return m * k * l + m * l * n < k * l * n + m * k * n;
}

std::optional<ir::Graph> reassociate_product(const ir::Graph& graph, ir::OpId at) {
  const ir::Op& op = graph.op(at);
  if (op.kind != Kind::k_matmul || !is_ordinary(op)) return std::nullopt;
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const ir::Op* inner = maker_of(graph, op.inputs[side], Kind::k_matmul);
    if (inner == nullptr || inner->inputs.size() != 2) continue;
    const Chain chain = chain_of(op, *inner, side);
    if (!all_matrices(graph, chain)) continue;
    const bool pays = side == 0 ? right_is_cheaper(graph, chain) : left_is_cheaper(graph, chain);
    if (!pays || !is_read_by_one(graph, op.inputs[side])) continue;
    const Factor &first = side == 0 ? chain.b : chain.a, &second = side == 0 ? chain.c : chain.b;
    Edit edit(graph, at);
    const ir::ValueId pair =
        edit.op(Kind::k_matmul, inner->name, {first.value, second.value}, {{first.transposed, second.transposed}, {}});
    std::vector<ir::ValueId> inputs = side == 0 ? std::vector{chain.a.value, pair} : std::vector{pair, chain.c.value};
    if (op.inputs.size() == 3) inputs.push_back(op.inputs[2]);
    const ir::Attrs attrs{{side == 0 ? chain.a.transposed : 0, side == 0 ? 0 : chain.c.transposed}, {}};
    edit.replace(op.outputs[0], edit.op(Kind::k_matmul, op.name, std::move(inputs), attrs));
    return edit.done();
  }
  return std::nullopt;
}

}  // namespace

const Rule kReassociateProduct{
    "reassociate-product", "(A B) C is A (B C) where that takes fewer multiplications", Preserves::kValues, 1e-5, false,
    reassociate_product};

}  // namespace pantoum::rewrite
