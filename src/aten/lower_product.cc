// Products of matrices. A transposed operand is read as it lies.
#include <array>

#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

constexpr Slot kSecond = {1, "mat2"};

struct Factor {
  ValueId id = ir::kNone;
  bool transposed = false;
};

// What a transposition of the last two dimensions was made of.
Factor factor_of(Node& node, ValueId x) {
  const ir::Graph& graph = node.builder().graph();
  const ir::OpId maker = graph.value(x).producer;
  if (maker == ir::kNone || graph.op(maker).kind != Kind::k_transpose) return {x, false};
  const std::vector<int64_t>& perm = graph.op(maker).attrs.ints;
  const size_t rank = perm.size();
  if (rank < 2) return {x, false};
  for (size_t d = 0; d + 2 < rank; ++d)
    if (perm[d] != static_cast<int64_t>(d)) return {x, false};
  if (perm[rank - 1] != static_cast<int64_t>(rank) - 2) return {x, false};
  return {graph.op(maker).inputs[0], true};
}

Result<ValueId> product(Node& node, ValueId a, ValueId b, ValueId bias = ir::kNone) {
  const Factor first = factor_of(node, a), second = factor_of(node, b);
  std::vector<ValueId> inputs = {first.id, second.id};
  if (bias != ir::kNone) inputs.push_back(bias);
  return node.op(Kind::k_matmul, std::move(inputs), {{first.transposed ? 1 : 0, second.transposed ? 1 : 0}, {}});
}

Result<void> lower_mm(Node& node) {
  PANTOUM_ASSIGN(const ValueId a, node.real(kSelf));
  PANTOUM_ASSIGN(const ValueId b, node.real(kSecond));
  return node.set(product(node, a, b));
}

// Vectors are rows on the left and columns on the right.
Result<void> lower_matmul(Node& node) {
  PANTOUM_ASSIGN(ValueId a, node.real(kSelf));
  PANTOUM_ASSIGN(ValueId b, node.real({1, "other"}));
  if (node.shape_of(a).size() == 1) {
    PANTOUM_ASSIGN(a, node.reshape(a, {1, node.shape_of(a)[0]}));
  }
  if (node.shape_of(b).size() == 1) {
    PANTOUM_ASSIGN(b, node.reshape(b, {node.shape_of(b)[0], 1}));
  }
  PANTOUM_ASSIGN(const ValueId y, product(node, a, b));
  return node.set(node.reshape(y, node.output().shape));
}

// beta * self + alpha * a b
Result<void> lower_addmm(Node& node) {
  PANTOUM_ASSIGN(ValueId bias, node.real(kSelf));
  PANTOUM_ASSIGN(const ValueId a, node.real({1, "mat1"}));
  PANTOUM_ASSIGN(const ValueId b, node.real({2, "mat2"}));
  PANTOUM_ASSIGN(const double beta, node.number({3, "beta"}, 1));
  PANTOUM_ASSIGN(const double alpha, node.number({4, "alpha"}, 1));
  if (node.output().shape.empty()) return fail("E0211", "its result is no matrix");
  const Shape row = {node.output().shape.back()};
  if (alpha == 1 && beta == 1 && node.shape_of(bias) == row) return node.set(product(node, a, b, bias));
  PANTOUM_ASSIGN(ValueId y, product(node, a, b));
  PANTOUM_ASSIGN(y, node.scale(y, alpha));
  if (beta == 0) return node.set(0, y);
  PANTOUM_ASSIGN(bias, node.scale(bias, beta));
  return node.set(node.op(Kind::k_add, {y, bias}));
}

Result<void> lower_linear(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real({0, "input"}));
  PANTOUM_ASSIGN(const ValueId weight, node.real({1, "weight"}));
  const Shape shape = node.shape_of(x), w = node.shape_of(weight);
  if (w.size() == 1) {
    PANTOUM_ASSIGN(const ValueId column, node.reshape(weight, {w[0], 1}));
    PANTOUM_ASSIGN(ValueId y, node.reshape(x, {node.type_of(x).elements() / w[0], w[0]}));
    PANTOUM_ASSIGN(y, product(node, y, column));
    PANTOUM_ASSIGN(y, node.reshape(y, node.output().shape));
    if (!node.has({2, "bias"})) return node.set(0, y);
    PANTOUM_ASSIGN(const ValueId bias, node.real({2, "bias"}));
    return node.set(node.op(Kind::k_add, {y, bias}));
  }
  std::vector<ValueId> inputs = {x, weight};
  if (shape.size() == 1) {
    PANTOUM_ASSIGN(inputs[0], node.reshape(x, {1, shape[0]}));
  }
  if (node.has({2, "bias"})) {
    PANTOUM_ASSIGN(inputs.emplace_back(), node.real({2, "bias"}));
  }
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_matmul, std::move(inputs), {{0, 1}, {}}));
  return node.set(node.reshape(y, node.output().shape));
}

// y[b,o] = sum over i and j of x[b,i] w[o,i,j] z[b,j]: what nn.Bilinear is.
Result<void> lower_trilinear(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real({0, "i1"}));
  PANTOUM_ASSIGN(ValueId weight, node.real({1, "i2"}));
  PANTOUM_ASSIGN(ValueId z, node.real({2, "i3"}));
  PANTOUM_ASSIGN(const std::vector<int64_t> first, node.integers({3, "expand1"}));
  PANTOUM_ASSIGN(const std::vector<int64_t> second, node.integers({4, "expand2"}));
  PANTOUM_ASSIGN(const std::vector<int64_t> third, node.integers({5, "expand3"}));
  PANTOUM_ASSIGN(const std::vector<int64_t> sums, node.integers({6, "sumdim"}));
  using Places = std::vector<int64_t>;
  const Shape shape = node.shape_of(weight);
  if (first != Places{1, 3} || second != Places{0} || third != Places{1, 2} || sums != Places{2, 3} ||
      shape.size() != 3 || node.shape_of(x).size() != 2 || node.shape_of(z).size() != 2)
    return unsupported("a sum over three factors that is not nn.Bilinear's", "write it with torch.einsum");
  const int64_t outputs = shape[0], inner = shape[1], other = shape[2], rows = node.shape_of(x)[0];
  PANTOUM_ASSIGN(weight, node.transpose(weight, {1, 0, 2}));
  PANTOUM_ASSIGN(weight, node.reshape(weight, {inner, outputs * other}));
  PANTOUM_ASSIGN(ValueId y, product(node, x, weight));
  PANTOUM_ASSIGN(y, node.reshape(y, {rows, outputs, other}));
  PANTOUM_ASSIGN(z, node.reshape(z, {rows, other, 1}));
  PANTOUM_ASSIGN(y, product(node, y, z));
  return node.set(node.reshape(y, node.output().shape));
}

constexpr std::array kProducts = {OperatorEntry{"mm.default", lower_mm},
                                  OperatorEntry{"bmm.default", lower_mm},
                                  OperatorEntry{"matmul.default", lower_matmul},
                                  OperatorEntry{"mv.default", lower_matmul},
                                  OperatorEntry{"dot.default", lower_matmul},
                                  OperatorEntry{"addmm.default", lower_addmm},
                                  OperatorEntry{"baddbmm.default", lower_addmm},
                                  OperatorEntry{"linear.default", lower_linear},
                                  OperatorEntry{"_trilinear.default", lower_trilinear}};

}  // namespace

std::span<const OperatorEntry> product_operators() {
  return kProducts;
}

}  // namespace pantoum::aten
