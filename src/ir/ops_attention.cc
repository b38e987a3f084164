// softmax(steps(Q K')) V without the scores as a tensor, and its gradient.
#include "ir/op_families.h"

namespace pantoum::ir {
namespace {

// Pairs of a row of Q and a row of K in all of the batch, and the extents of those rows and of V's. Q stands at `first`, K and V behind it.
struct Attended {
  double scores = 0, d = 0, e = 0;
};
Attended attended(const OpTypes& types, size_t first) {
  const auto extents = [&](size_t at, size_t flag) {  // of a matrix: rows, columns
    const Shape& shape = types.inputs[first + at].shape;
    const auto rows = static_cast<double>(shape[shape.size() - 2]), columns = static_cast<double>(shape.back());
    return types.attrs.ints[flag] != 0 ? std::pair(columns, rows) : std::pair(rows, columns);
  };
  const auto [m, d] = extents(0, PT_ATTENTION_TRANS_Q);
  const auto [n, e] = extents(2, PT_ATTENTION_TRANS_V);
  return {static_cast<double>(types.inputs[first].elements()) / d * n, d, e};
}

// Two products and the softmax; backward makes the first one and the softmax again, and four products more.
constexpr double kFlopsOfSoftmax = 20, kFlopsOfGradient = 6;

OpCost attention_cost(const OpTypes& types) {
  const Attended parts = attended(types, 0);
  return operand_bytes(types, parts.scores * (2 * (parts.d + parts.e) + kFlopsOfSoftmax));
}
OpCost attention_grad_cost(const OpTypes& types) {
  const Attended parts = attended(types, 1);
  return operand_bytes(types, parts.scores * (2 * (3 * parts.d + 2 * parts.e) + kFlopsOfSoftmax + kFlopsOfGradient));
}

void attention_gradient(Backward& back) {
  std::vector<ValueId> inputs = {back.d_outputs[0]};
  inputs.insert(inputs.end(), back.op.inputs.begin(), back.op.inputs.end());
  const std::vector<ValueId> made = make_all(back, k_attention_grad, ".dx", std::move(inputs), back.op.attrs);
  for (size_t input = 0; input < made.size(); ++input)
    if (back.wanted[input]) back.d_inputs[input] = made[input];
}

// A block of rows of Q, or of dY, is read before the same rows of Y, or dQ, are written.
Pairs over_queries(const OpTypes& types) {
  const bool fits = types.inputs[0] == types.outputs[0] && types.attrs.ints[PT_ATTENTION_TRANS_Q] == 0;
  return fits ? Pairs{{0, 0}} : Pairs{};
}
Pairs over_queries_or_dy(const OpTypes& types) {
  Pairs pairs = over_queries(types);
  pairs.emplace_back(0, 1);
  return pairs;
}

}  // namespace

std::vector<OpDef> attention_ops() {
  return {
      forward_op(k_attention, attention_gradient, attention_cost, rows_by(kBroadcast), over_queries),
      backward_op(k_attention_grad, attention_grad_cost, over_queries_or_dy),
  };
}

}  // namespace pantoum::ir
