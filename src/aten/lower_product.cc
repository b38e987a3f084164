// Products of matrices. A transposed operand is read as it lies.
#include "aten/operators.h"

namespace pantoum::aten {
namespace {

struct Factor {
  Value value;
  int64_t transposed = 0;
};

// If x is a transposition of its last two dimensions: the value that was transposed.
Factor factor_of(const Value& x) {
  if (!x) return {x};
  const Graph& graph = x.in().builder().graph();
  const OpId maker = graph.value(x).producer;
  if (maker == kNone || graph.op(maker).kind != Kind::k_transpose) return {x};
  const Integers& perm = graph.op(maker).attrs.ints;
  const auto rank = static_cast<int64_t>(perm.size());
  if (rank < 2 || perm.back() != rank - 2) return {x};
  for (int64_t d = 0; d + 2 < rank; ++d)
    if (perm[static_cast<size_t>(d)] != d) return {x};
  return {x.in().at(graph.op(maker).inputs[0]), 1};
}

Value product(const Value& a, const Value& b, const Value& bias = {}) {
  const Factor first = factor_of(a), second = factor_of(b);
  Values inputs = {first.value, second.value};
  if (bias) inputs.push_back(bias);
  return a.in().op(Kind::k_matmul, inputs, {{first.transposed, second.transposed}, {}});
}

Result<void> lower_mm(Node& node) {
  const Value a = node.real(kSelf);
  return node.set(product(a, node.real({1, "mat2"})));
}

// Vectors are rows on the left and columns on the right.
Result<void> lower_matmul(Node& node) {
  const Value a = node.real(kSelf), b = node.real(kOther);
  const Value left = a.rank() == 1 ? reshape(a, {1, a.shape()[0]}) : a;
  return node.set_reshaped(product(left, b.rank() == 1 ? reshape(b, {b.shape()[0], 1}) : b));
}

// beta * self + alpha * a b
Result<void> lower_addmm(Node& node) {
  const Value bias = node.real(kSelf), a = node.real({1, "mat1"}), b = node.real({2, "mat2"});
  const double beta = node.number({3, "beta"}, 1), alpha = node.number({4, "alpha"}, 1);
  if (node.output().shape.empty()) return misfit("its result is no matrix");
  if (alpha == 1 && beta == 1 && bias.shape() == Shape{node.output().shape.back()})
    return node.set(product(a, b, bias));
  const Value y = scale(product(a, b), alpha);
  return node.set(beta == 0 ? y : y + scale(bias, beta));
}

Result<void> lower_linear(Node& node) {
  const Value x = node.real({0, "input"}), weight = node.real({1, "weight"}), bias = node.optional({2, "bias"});
  if (weight.rank() == 1) {
    const int64_t columns = weight.elements();
    const Value column = reshape(weight, {columns, 1}), rows = reshape(x, {x.elements() / columns, columns});
    const Value y = reshape(product(rows, column), node.output().shape);
    return node.set(bias ? y + bias : y);
  }
  Values inputs = {x.rank() == 1 ? reshape(x, {1, x.elements()}) : x, weight};
  if (bias) inputs.push_back(bias);
  return node.set_reshaped(node.op(Kind::k_matmul, inputs, {{0, 1}, {}}));
}

// y[b,o] = sum over i and j of x[b,i] w[o,i,j] z[b,j]: what nn.Bilinear is.
Result<void> lower_trilinear(Node& node) {
  const Value x = node.real({0, "i1"}), weight = node.real({1, "i2"}), z = node.real({2, "i3"});
  using Places = Integers;
  const Shape shape = weight.shape();
  if (node.integers({3, "expand1"}) != Places{1, 3} || node.integers({4, "expand2"}) != Places{0} ||
      node.integers({5, "expand3"}) != Places{1, 2} || node.integers({6, "sumdim"}) != Places{2, 3} ||
      shape.size() != 3 || x.rank() != 2 || z.rank() != 2)
    return unsupported("a sum over three factors that is not nn.Bilinear's", "write it with torch.einsum");
  const int64_t outputs = shape[0], inner = shape[1], other = shape[2], rows = x.shape()[0];
  const Value matrix = reshape(transpose(weight, {1, 0, 2}), {inner, outputs * other});
  const Value y = reshape(product(x, matrix), {rows, outputs, other});
  return node.set_reshaped(product(y, reshape(z, {rows, other, 1})));
}

constexpr OperatorEntry kProducts[] = {{"mm.default bmm.default", lower_mm},
                                       {"matmul.default mv.default dot.default", lower_matmul},
                                       {"addmm.default", lower_addmm},
                                       {"linear.default", lower_linear},
                                       {"_trilinear.default", lower_trilinear}};

}  // namespace

constinit const Family product_operators = kProducts;

}  // namespace pantoum::aten
