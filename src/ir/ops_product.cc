// matmul.
#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/op_families.h"
#include "ir/shape_rules.h"

namespace pantoum::ir {
namespace {

struct Product {
  int64_t m, k, n;
};

Result<Product> product_of(const OpTypes& types) {
  const Shape &a = types.inputs[0].shape, &b = types.inputs[1].shape;
  if (a.size() < 2 || b.size() < 2) return refuse("its factors must have two dimensions or more");
  const bool trans_a = types.attrs.ints[0] != 0, trans_b = types.attrs.ints[1] != 0;
  const int64_t rows = a[a.size() - 2], columns = a.back();
  const int64_t inner = b[b.size() - (trans_b ? 1 : 2)];
  const Product product{trans_a ? columns : rows, trans_a ? rows : columns, b[b.size() - (trans_b ? 2 : 1)]};
  if (product.k != inner) return refuse(fmt::format("the inner extents {} and {} differ", product.k, inner));
  return product;
}

Types matmul_rule(const OpTypes& types) {
  PANTOUM_ASSIGN(const DType dtype, float_dtype(types.inputs));
  PANTOUM_ASSIGN(const Product product, product_of(types));
  const Shape &a = types.inputs[0].shape, &b = types.inputs[1].shape;
  PANTOUM_ASSIGN(Shape shape, broadcast(Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2)));
  if (types.inputs.size() == 3) PANTOUM_TRY(want_shape(types.inputs[2], {product.n}, "the bias"));
  shape.push_back(product.m);
  shape.push_back(product.n);
  return std::vector<TensorType>{{dtype, shape}};
}

OpCost matmul_cost(const OpTypes& types) {
  const Shape& a = types.inputs[0].shape;
  const int64_t inner = a[a.size() - (types.attrs.ints[0] != 0 ? 2 : 1)];
  return operand_bytes(types, 2.0 * static_cast<double>(types.outputs[0].elements()) * static_cast<double>(inner));
}

ValueId product(Backward& back, const char* suffix, ValueId a, ValueId b, bool trans_a, bool trans_b) {
  return back.builder.op(Kind::k_matmul, back.op.name + suffix, {a, b}, {{trans_a, trans_b}, {}});
}

Shape as_matrix(const Shape& shape) {
  int64_t rows = 1;
  for (size_t d = 0; d + 1 < shape.size(); ++d) rows *= shape[d];
  return {rows, shape.back()};
}

// One weight for every matrix of a batch is one product of taller matrices: its gradient then needs no sum over the
// batch.
void matmul_gradient(Backward& back) {
  Builder& builder = back.builder;
  ValueId a = back.op.inputs[0], b = back.op.inputs[1], dy = back.d_outputs[0];
  const bool trans_a = back.op.attrs.ints[0] != 0, trans_b = back.op.attrs.ints[1] != 0;
  const Shape a_shape = builder.type(a).shape, b_shape = builder.type(b).shape;
  if (back.op.inputs.size() == 3 && back.wanted[2]) {
    back.d_inputs[2] = builder.sum_to(dy, builder.type(back.op.inputs[2]).shape);
  }
  if (b_shape.size() == 2 && a_shape.size() > 2 && !trans_a) {
    if (back.wanted[1]) a = builder.reshape(a, as_matrix(a_shape));
    dy = builder.reshape(dy, as_matrix(builder.type(dy).shape));
  }
  if (back.wanted[1]) {
    const ValueId db =
        trans_b ? product(back, ".dw", dy, a, true, trans_a) : product(back, ".dw", a, dy, !trans_a, false);
    back.d_inputs[1] = builder.sum_to(db, b_shape);
  }
  if (back.wanted[0]) {
    const ValueId da =
        trans_a ? product(back, ".dx", b, dy, trans_b, true) : product(back, ".dx", dy, b, false, !trans_b);
    const bool folded = builder.type(da).shape.size() < a_shape.size();
    back.d_inputs[0] = folded ? builder.reshape(da, a_shape) : builder.sum_to(da, a_shape);
  }
}

}  // namespace

// why: one row per operator, and nothing that two tables could share.
std::vector<OpDef> product_ops() {
  return {{.kind = Kind::k_matmul,
           .signature = {.min_inputs = 2, .max_inputs = 3, .ints = PT_MATMUL_ATTRS},
           .infer = matmul_rule,
           .gradient = matmul_gradient,
           .cost = matmul_cost,
           .traits = rows_by(RowWise::kProduct)}};
}

}  // namespace pantoum::ir
