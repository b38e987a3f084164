// MatMul and Gemm.
#include "import/operators.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;

struct Factor {
  Value value;
  int64_t transposed;
};

// The operand itself, or what it is the transpose of: the product transposes for nothing.
Factor factor(Node& node, size_t input) {
  const Value value = node.real(input);
  const ir::ValueId original = value ? node.operand(input)->untransposed : ir::kNone;
  return original == ir::kNone ? Factor{value, 0} : Factor{node.at(original), 1};
}

// Vectors become matrices of one row (left) or one column (right), and their dimension leaves the result again.
Result<void> lower_matmul(Node& node) {
  Factor a = factor(node, 0), b = factor(node, 1);
  const Shape left = node.shape(0), right = node.shape(1);
  if (left.empty() || right.empty()) return fail("E0211", "a factor is a scalar");
  if (left.size() == 1) a.value = reshape(a.value, {1, left[0]});
  if (right.size() == 1) b.value = reshape(b.value, {right[0], 1});
  const Value y = node.op(Kind::k_matmul, {a.value, b.value}, {{a.transposed, b.transposed}, {}});
  Shape shape = y.shape();
  if (right.size() == 1) shape.pop_back();
  if (left.size() == 1) shape.erase(shape.end() - (right.size() == 1 ? 1 : 2));
  return node.set(reshape(y, shape));
}

Result<void> lower_gemm(Node& node) {
  Factor a = factor(node, 0), b = factor(node, 1);
  if (node.shape(0).size() != 2 || node.shape(1).size() != 2) return fail("E0211", "its factors are not matrices");
  a.transposed ^= node.attributes().integer("transA", 0) != 0;
  b.transposed ^= node.attributes().integer("transB", 0) != 0;
  const double alpha = node.attributes().real("alpha", 1), beta = node.attributes().real("beta", 1);
  const bool biased = node.has(2) && beta != 0;
  const int64_t columns = b.value.shape()[b.transposed != 0 ? 0 : 1];
  Values inputs = {a.value, b.value};
  const Shape c = node.shape(2);
  if (biased && alpha == 1 && beta == 1 && (c == Shape{columns} || c == Shape{1, columns}))
    inputs.push_back(reshape(node.real(2), {columns}));
  const Value y = scale(node.op(Kind::k_matmul, inputs, {{a.transposed, b.transposed}, {}}), alpha);
  if (!biased || inputs.size() == 3) return node.set(y);
  const Value sum = y + scale(node.real(2), beta);
  if (sum.shape() != y.shape()) return fail("E0211", "its C does not broadcast to the product");
  return node.set(sum);
}

constexpr OperatorEntry kProductOperators[] = {{"MatMul", lower_matmul, "matmul"},
                                               {"Gemm", lower_gemm, "matmul scale add"}};

}  // namespace

Family product_operators() {
  return kProductOperators;
}

}  // namespace pantoum::import
