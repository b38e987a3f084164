// Reductions and Expand. What is not a sum, a mean or a maximum is made of them.
#include <array>

#include "import/integers.h"
#include "import/numbers.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

struct Reduction {
  int64_t mask = 0;  // 0: nothing is reduced
  Shape kept;        // the result's shape where reduced dimensions stay as 1s, else empty
};

Result<Reduction> read_reduction(Node& node) {
  const Shape shape = node.shape(0);
  PANTOUM_ASSIGN(const auto told, node.integers_or_attribute(1, "axes"));
  std::vector<int64_t> axes;
  PANTOUM_ASSIGN(axes, normalize_axes(told.value_or(axes), shape.size()));
  Reduction reduction;
  for (const int64_t axis : axes) reduction.mask |= int64_t{1} << axis;
  const bool all = axes.empty() && node.attributes().integer("noop_with_empty_axes", 0) == 0;
  if (all) reduction.mask = (int64_t{1} << shape.size()) - 1;
  if (node.attributes().integer("keepdims", 1) == 0) return reduction;
  reduction.kept = shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    if ((reduction.mask >> d & 1) != 0) reduction.kept[d] = 1;
  }
  return reduction;
}

// `x` reduced; without dimensions to reduce, `x` itself.
Result<ValueId> reduced(Node& node, Kind kind, ValueId x, const Reduction& reduction) {
  if (reduction.mask == 0) return x;
  return node.op(kind, {x}, {{reduction.mask}, {}});
}

Result<void> finish(Node& node, Result<ValueId> y, const Reduction& reduction) {
  PANTOUM_ASSIGN(ValueId made, std::move(y));
  if (!reduction.kept.empty()) {
    PANTOUM_ASSIGN(made, node.reshape(made, reduction.kept));
  }
  node.set(0, made);
  return {};
}

bool is_bool(const Node& node) {
  return node.has(0) && node.type(0).dtype == ir::DType::kBool;
}

// What is reduced: floating point or integers.
Result<ValueId> number(Node& node) {
  return computes_integers(node) ? node.value(0) : node.real(0);
}
// Or bools, which have an order.
Result<ValueId> ordered(Node& node) {
  return is_bool(node) ? node.value(0) : number(node);
}

template <Kind kKind>
Result<void> lower_reduce(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, kKind == Kind::k_reduce_max ? ordered(node) : number(node));
  PANTOUM_ASSIGN(const Reduction reduction, read_reduction(node));
  return finish(node, reduced(node, kKind, x, reduction), reduction);
}

// The sum of integers is divided towards zero.
Result<void> lower_reduce_mean(Node& node) {
  if (!computes_integers(node)) return lower_reduce<Kind::k_reduce_mean>(node);
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  PANTOUM_ASSIGN(const Reduction reduction, read_reduction(node));
  PANTOUM_ASSIGN(const ValueId sum, reduced(node, Kind::k_reduce_sum, x, reduction));
  int64_t count = 1;
  for (size_t d = 0; d < node.shape(0).size(); ++d) count *= (reduction.mask >> d & 1) != 0 ? node.shape(0)[d] : 1;
  const ValueId divisor = whole_constant(node, node.type(0).dtype, {}, {count});
  return finish(node, node.op(Kind::k_div, {sum, divisor}), reduction);
}

// Of integers and bools: not the maximum of what they are not.
Result<void> lower_reduce_min_of_integers(Node& node) {
  PANTOUM_ASSIGN(ValueId x, ordered(node));
  PANTOUM_ASSIGN(const Reduction reduction, read_reduction(node));
  PANTOUM_ASSIGN(x, whole_not(node, x));
  PANTOUM_ASSIGN(x, reduced(node, Kind::k_reduce_max, x, reduction));
  return finish(node, whole_not(node, x), reduction);
}

// -max(-x)
Result<void> lower_reduce_min(Node& node) {
  if (computes_integers(node) || is_bool(node)) return lower_reduce_min_of_integers(node);
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  PANTOUM_ASSIGN(const Reduction reduction, read_reduction(node));
  PANTOUM_ASSIGN(x, node.op(Kind::k_neg, {x}));
  PANTOUM_ASSIGN(x, reduced(node, Kind::k_reduce_max, x, reduction));
  return finish(node, node.op(Kind::k_neg, {x}), reduction);
}

// A function of floating-point numbers; of integers what is behind the point is cut off.
Result<ValueId> by_real(Node& node, Kind kind, ValueId x) {
  const ir::TensorType type = node.builder().type(x);
  if (ir::is_float(type.dtype)) return node.op(kind, {x});
  PANTOUM_ASSIGN(x, node.op(Kind::k_cast, {x}, {}, {{ir::DType::kF32, type.shape}}));
  PANTOUM_ASSIGN(x, node.op(kind, {x}));
  return node.op(Kind::k_cast, {x}, {}, {type});
}

Result<ValueId> magnitude(Node& node, ValueId x) {
  if (!computes_integers(node)) return node.op(Kind::k_abs, {x});
  if (node.type(0).dtype == ir::DType::kU8) return x;
  PANTOUM_ASSIGN(const ValueId negative, whole_neg(node, x));
  return node.op(Kind::k_maximum, {x, negative});
}

Result<void> lower_reduce_l1(Node& node) {
  PANTOUM_ASSIGN(ValueId x, number(node));
  PANTOUM_ASSIGN(const Reduction reduction, read_reduction(node));
  PANTOUM_ASSIGN(x, magnitude(node, x));
  return finish(node, reduced(node, Kind::k_reduce_sum, x, reduction), reduction);
}

Result<ValueId> sum_of_squares(Node& node, const Reduction& reduction) {
  PANTOUM_ASSIGN(ValueId x, number(node));
  PANTOUM_ASSIGN(x, node.op(Kind::k_mul, {x, x}));
  return reduced(node, Kind::k_reduce_sum, x, reduction);
}

Result<void> lower_reduce_sum_square(Node& node) {
  PANTOUM_TRY(number(node));
  PANTOUM_ASSIGN(const Reduction reduction, read_reduction(node));
  return finish(node, sum_of_squares(node, reduction), reduction);
}

Result<void> lower_reduce_l2(Node& node) {
  PANTOUM_TRY(number(node));
  PANTOUM_ASSIGN(const Reduction reduction, read_reduction(node));
  PANTOUM_ASSIGN(const ValueId sum, sum_of_squares(node, reduction));
  return finish(node, by_real(node, Kind::k_sqrt, sum), reduction);
}

Result<void> lower_reduce_log_sum(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, number(node));
  PANTOUM_ASSIGN(const Reduction reduction, read_reduction(node));
  PANTOUM_ASSIGN(const ValueId sum, reduced(node, Kind::k_reduce_sum, x, reduction));
  return finish(node, by_real(node, Kind::k_log, sum), reduction);
}

// max + log(sum(e^(x - max))): no power overflows.
Result<void> lower_reduce_log_sum_exp(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  PANTOUM_ASSIGN(const Reduction reduction, read_reduction(node));
  PANTOUM_ASSIGN(const ValueId most, reduced(node, Kind::k_reduce_max, x, reduction));
  Shape kept = node.shape(0);
  for (size_t d = 0; d < kept.size(); ++d) {
    if ((reduction.mask >> d & 1) != 0) kept[d] = 1;
  }
  PANTOUM_ASSIGN(const ValueId spread, node.reshape(most, kept));
  PANTOUM_ASSIGN(x, node.op(Kind::k_sub, {x, spread}));
  PANTOUM_ASSIGN(x, node.op(Kind::k_exp, {x}));
  PANTOUM_ASSIGN(x, reduced(node, Kind::k_reduce_sum, x, reduction));
  PANTOUM_ASSIGN(x, node.op(Kind::k_log, {x}));
  return finish(node, node.op(Kind::k_add, {x, most}), reduction);
}

// The first `count` elements along dimension d from `start` on.
Result<ValueId> piece(Node& node, ValueId x, size_t d, int64_t start, int64_t count) {
  ir::TensorType type = node.builder().type(x);
  ir::Attrs attrs;
  for (size_t at = 0; at < type.shape.size(); ++at) attrs.ints.insert(attrs.ints.end(), {at == d ? start : 0, 1});
  type.shape[d] = count;
  return node.op(Kind::k_slice, {x}, std::move(attrs), {std::move(type)});
}

// Halves are multiplied with each other until one element is left of each reduced dimension.
Result<void> lower_reduce_prod(Node& node) {
  PANTOUM_ASSIGN(ValueId x, number(node));
  PANTOUM_ASSIGN(const Reduction reduction, read_reduction(node));
  Shape shape = node.shape(0), left;
  for (size_t d = 0; d < shape.size(); ++d) {
    if ((reduction.mask >> d & 1) == 0) {
      left.push_back(shape[d]);
      continue;
    }
    while (shape[d] > 1) {
      const int64_t half = shape[d] / 2;
      PANTOUM_ASSIGN(const ValueId first, piece(node, x, d, 0, half));
      PANTOUM_ASSIGN(const ValueId second, piece(node, x, d, half, half));
      PANTOUM_ASSIGN(ValueId product, node.op(Kind::k_mul, {first, second}));
      if (shape[d] % 2 != 0) {
        PANTOUM_ASSIGN(const ValueId last, piece(node, x, d, shape[d] - 1, 1));
        PANTOUM_ASSIGN(product, node.op(Kind::k_concat, {product, last}, {{static_cast<int64_t>(d)}, {}}));
      }
      x = product;
      shape[d] = half + shape[d] % 2;
    }
  }
  return finish(node, node.reshape(x, left), reduction);
}

Result<void> lower_expand(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.value(0));
  PANTOUM_ASSIGN(const Shape wanted, node.integers(1, "target shape"));
  const ir::TensorType from = node.type(0);
  const auto shape = count_elements(wanted) ? broadcast_shapes(from.shape, wanted) : std::nullopt;
  if (!shape) return fail("E0211", "its input does not broadcast to the shape " + ir::to_text(wanted));
  ValueId y = x;
  if (*shape != from.shape) {
    PANTOUM_ASSIGN(y, node.op(Kind::k_expand, {x}, {{}, {1.0}}, {{from.dtype, *shape}}));
  }
  node.set(0, y);
  return {};
}

constexpr const char* kConstant = "constant axes";
constexpr const char* kNumbers = "float32, int64, int32, uint8; constant axes";
constexpr std::array kReduceOperators = {
    OperatorEntry{"ReduceMean", lower_reduce_mean, "reduce_sum div reduce_mean", kNumbers},
    OperatorEntry{"ReduceSum", lower_reduce<Kind::k_reduce_sum>, "reduce_sum", kNumbers},
    OperatorEntry{"ReduceMax", lower_reduce<Kind::k_reduce_max>, "reduce_max",
                  "float32, int64, int32, uint8, bool; constant axes; equal maxima share the gradient evenly"},
    OperatorEntry{"ReduceMin", lower_reduce_min, "bitwise reduce_max neg",
                  "float32, int64, int32, uint8, bool; constant axes; equal minima share the gradient evenly"},
    OperatorEntry{"ReduceL1", lower_reduce_l1, "sub maximum abs reduce_sum", kNumbers},
    OperatorEntry{"ReduceL2", lower_reduce_l2, "mul reduce_sum cast sqrt", kNumbers},
    OperatorEntry{"ReduceSumSquare", lower_reduce_sum_square, "mul reduce_sum", kNumbers},
    OperatorEntry{"ReduceLogSum", lower_reduce_log_sum, "reduce_sum cast log", kNumbers},
    OperatorEntry{"ReduceLogSumExp", lower_reduce_log_sum_exp, "reduce_max sub exp reduce_sum log add", kConstant},
    OperatorEntry{"ReduceProd", lower_reduce_prod, "slice mul concat", kNumbers},
    OperatorEntry{"Expand", lower_expand, "expand", "the shape must be known while importing"}};

}  // namespace

std::span<const OperatorEntry> reduce_operators() {
  return kReduceOperators;
}

}  // namespace pantoum::import
