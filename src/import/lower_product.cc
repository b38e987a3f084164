// MatMul and Gemm.
#include <array>

#include "import/operators.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

struct Factor {
  ValueId id;
  int64_t transposed;
};

// The operand itself, or what it is the transpose of: the product transposes for nothing.
Result<Factor> factor(Node& node, size_t input) {
  PANTOUM_ASSIGN(const ValueId id, node.real(input));
  const ValueId original = node.operand(input)->untransposed;
  return original == ir::kNone ? Factor{id, 0} : Factor{original, 1};
}

// Vectors become matrices of one row (left) or one column (right), and their dimension leaves the result again.
Result<void> lower_matmul(Node& node) {
  PANTOUM_ASSIGN(Factor a, factor(node, 0));
  PANTOUM_ASSIGN(Factor b, factor(node, 1));
  const Shape left = node.shape(0), right = node.shape(1);
  if (left.empty() || right.empty()) return fail("E0211", "a factor is a scalar");
  if (left.size() == 1) {
    PANTOUM_ASSIGN(a.id, node.reshape(a.id, {1, left[0]}));
  }
  if (right.size() == 1) {
    PANTOUM_ASSIGN(b.id, node.reshape(b.id, {right[0], 1}));
  }
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_matmul, {a.id, b.id}, {{a.transposed, b.transposed}, {}}));
  Shape shape = node.builder().type(y).shape;
  if (right.size() == 1) shape.pop_back();
  if (left.size() == 1) shape.erase(shape.end() - (right.size() == 1 ? 1 : 2));
  PANTOUM_ASSIGN(y, node.reshape(y, shape));
  node.set(0, y);
  return {};
}

// C as a vector over the columns, or none when it has another shape.
Result<ValueId> bias_vector(Node& node, int64_t columns) {
  const Shape shape = node.shape(2);
  const bool row = shape == Shape{columns} || shape == Shape{1, columns};
  if (!row) return ir::kNone;
  PANTOUM_ASSIGN(const ValueId c, node.real(2));
  return node.reshape(c, {columns});
}

Result<void> lower_gemm(Node& node) {
  PANTOUM_ASSIGN(Factor a, factor(node, 0));
  PANTOUM_ASSIGN(Factor b, factor(node, 1));
  if (node.shape(0).size() != 2 || node.shape(1).size() != 2) return fail("E0211", "its factors are not matrices");
  a.transposed ^= node.attributes().integer("transA", 0) != 0;
  b.transposed ^= node.attributes().integer("transB", 0) != 0;
  const double alpha = node.attributes().real("alpha", 1), beta = node.attributes().real("beta", 1);
  const bool biased = node.has(2) && beta != 0;
  const int64_t columns = node.builder().type(b.id).shape[b.transposed != 0 ? 0 : 1];
  std::vector<ValueId> inputs = {a.id, b.id};
  if (biased && alpha == 1 && beta == 1) {
    PANTOUM_ASSIGN(const ValueId bias, bias_vector(node, columns));
    if (bias != ir::kNone) inputs.push_back(bias);
  }
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_matmul, inputs, {{a.transposed, b.transposed}, {}}));
  PANTOUM_ASSIGN(y, node.scale(y, alpha));
  if (biased && inputs.size() == 2) {
    PANTOUM_ASSIGN(ValueId c, node.real(2));
    PANTOUM_ASSIGN(c, node.scale(c, beta));
    const Shape product = node.builder().type(y).shape;
    PANTOUM_ASSIGN(y, node.op(Kind::k_add, {y, c}));
    if (node.builder().type(y).shape != product) return fail("E0211", "its C does not broadcast to the product");
  }
  node.set(0, y);
  return {};
}

constexpr std::array kProductOperators = {OperatorEntry{"MatMul", lower_matmul, "matmul"},
                                          OperatorEntry{"Gemm", lower_gemm, "matmul scale add"}};

}  // namespace

std::span<const OperatorEntry> product_operators() {
  return kProductOperators;
}

}  // namespace pantoum::import
