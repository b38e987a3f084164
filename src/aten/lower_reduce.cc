// Reductions and scans.
#include <algorithm>
#include <array>
#include <cmath>

#include "aten/arithmetic.h"
#include "aten/operators.h"
#include "aten/pieces.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

constexpr Slot kKeep = {2, "keepdim"};

struct Over {
  std::vector<int64_t> dimensions;  // empty: all
  bool keep = false;
};

Result<Over> read_over(Node& node, ValueId x, Slot keep = kKeep) {
  Over over;
  PANTOUM_ASSIGN(over.dimensions, node.dimensions(kDim, node.shape_of(x).size()));
  PANTOUM_ASSIGN(over.keep, node.boolean(keep, false));
  return over;
}

int64_t count_over(const Shape& shape, const std::vector<int64_t>& dimensions) {
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d)
    if (dimensions.empty() ||
        std::find(dimensions.begin(), dimensions.end(), static_cast<int64_t>(d)) != dimensions.end())
      count *= shape[d];
  return count;
}

// In the captured type: sums of bools count.
template <Kind kKind>
Result<void> lower_sum(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, node.output().dtype));
  PANTOUM_ASSIGN(const Over over, read_over(node, x));
  return node.set(node.reduce(kKind, x, over.dimensions, over.keep));
}

// Sums and means of all.
template <Kind kKind>
Result<void> lower_sum_all(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, node.output().dtype));
  return node.set(node.reduce(kKind, x, {}, false));
}

// What turns the order around.
Result<ValueId> opposite(Node& node, ValueId x) {
  const DType dtype = node.type_of(x).dtype;
  if (ir::is_float(dtype)) return node.op(Kind::k_neg, {x});
  if (dtype == DType::kBool) return inverted(node, x);
  const int64_t ones = dtype == DType::kU8 ? 255 : -1;
  return node.op(Kind::k_bitwise, {x, node.whole_constant(dtype, {}, {ones})}, {{PT_BITWISE_XOR}, {}});
}

Result<ValueId> extreme(Node& node, ValueId x, const Over& over, bool least) {
  if (!least) return node.reduce(Kind::k_reduce_max, x, over.dimensions, over.keep);
  PANTOUM_ASSIGN(x, opposite(node, x));
  PANTOUM_ASSIGN(x, node.reduce(Kind::k_reduce_max, x, over.dimensions, over.keep));
  return opposite(node, x);
}

// Equal ones share the gradient.
template <bool kLeast>
Result<void> lower_extreme_over(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  PANTOUM_ASSIGN(const Over over, read_over(node, x));
  return node.set(extreme(node, x, over, kLeast));
}

template <bool kLeast>
Result<void> lower_extreme_of_all(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.tensor(kSelf));
  return node.set(extreme(node, x, {}, kLeast));
}

Result<ValueId> position_of_extreme(Node& node, ValueId x, int64_t axis, bool least) {
  if (least) {
    PANTOUM_ASSIGN(x, opposite(node, x));
  }
  if (!ir::is_float(node.type_of(x).dtype) && node.type_of(x).dtype != DType::kI64) {
    PANTOUM_ASSIGN(x, node.cast(x, DType::kI64));
  }
  return node.op(Kind::k_arg_max, {x}, {{axis}, {}});
}

// Values and positions: the gradient goes to the position alone.
template <bool kLeast>
Result<void> lower_extreme_with_index(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  Shape shape = node.shape_of(x);
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, shape.size(), -1));
  if (shape.empty()) {
    PANTOUM_TRY(node.set(0, x));
    return node.set(1, node.whole_constant(DType::kI64, {}, {0}));
  }
  PANTOUM_ASSIGN(ValueId at, position_of_extreme(node, x, axis, kLeast));
  shape[static_cast<size_t>(axis)] = 1;
  PANTOUM_ASSIGN(at, node.reshape(at, shape));
  PANTOUM_ASSIGN(ValueId value, node.op(Kind::k_gather_elements, {x, at}, {{axis}, {}}));
  PANTOUM_ASSIGN(value, node.reshape(value, node.wanted_shape()));
  PANTOUM_ASSIGN(at, node.reshape(at, node.wanted_shape()));
  PANTOUM_TRY(node.set(0, value));
  return node.set(1, at);
}

template <bool kLeast>
Result<void> lower_arg_extreme(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.tensor(kSelf));
  if (!node.has(kDim) || node.shape_of(x).empty()) {
    PANTOUM_ASSIGN(x, node.reshape(x, {node.type_of(x).elements()}));
  }
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, node.shape_of(x).size(), 0));
  PANTOUM_ASSIGN(const ValueId at, position_of_extreme(node, x, axis, kLeast));
  return node.set(node.reshape(at, node.output().shape));
}

Result<ValueId> variance(Node& node, ValueId x, const std::vector<int64_t>& dimensions, bool keep, double correction) {
  PANTOUM_ASSIGN(const ValueId mean, node.reduce(Kind::k_reduce_mean, x, dimensions, true));
  PANTOUM_ASSIGN(ValueId d, node.op(Kind::k_sub, {x, mean}));
  PANTOUM_ASSIGN(d, node.op(Kind::k_mul, {d, d}));
  PANTOUM_ASSIGN(d, node.reduce(Kind::k_reduce_sum, d, dimensions, keep));
  const double count = static_cast<double>(count_over(node.shape_of(x), dimensions)) - correction;
  if (!(count > 0)) return unsupported("the variance of too few elements", "reduce over more");
  return node.scale(d, 1 / count);
}

template <bool kRoot>
Result<void> lower_variance(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const Over over, read_over(node, x, {9, "keepdim"}));
  PANTOUM_ASSIGN(const double correction, node.number({9, "correction"}, 1));
  PANTOUM_ASSIGN(const ValueId y, variance(node, x, over.dimensions, over.keep, correction));
  return node.set(kRoot ? node.op(Kind::k_sqrt, {y}) : Result<ValueId>(y));
}

Result<void> lower_var_mean(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const Over over, read_over(node, x, {9, "keepdim"}));
  PANTOUM_ASSIGN(const double correction, node.number({9, "correction"}, 1));
  PANTOUM_ASSIGN(const ValueId y, variance(node, x, over.dimensions, over.keep, correction));
  PANTOUM_ASSIGN(const ValueId mean, node.reduce(Kind::k_reduce_mean, x, over.dimensions, over.keep));
  PANTOUM_TRY(node.set(0, y));
  return node.set(1, mean);
}

Result<void> lower_vector_norm(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const double order, node.number({1, "ord"}, 2));
  PANTOUM_ASSIGN(const std::vector<int64_t> dimensions, node.dimensions({2, "dim"}, node.shape_of(x).size()));
  PANTOUM_ASSIGN(const bool keep, node.boolean({3, "keepdim"}, false));
  if (order == 2) {
    PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_mul, {x, x}));
    PANTOUM_ASSIGN(y, node.reduce(Kind::k_reduce_sum, y, dimensions, keep));
    return node.set(root_of_squares(node, y));
  }
  PANTOUM_ASSIGN(const ValueId size, node.op(Kind::k_abs, {x}));
  if (order == 1) return node.set(node.reduce(Kind::k_reduce_sum, size, dimensions, keep));
  if (std::isinf(order)) return node.set(extreme(node, size, {dimensions, keep}, order < 0));
  if (order == 0) {
    PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_sign, {size}));
    return node.set(node.reduce(Kind::k_reduce_sum, y, dimensions, keep));
  }
  const auto number = [&](double value) { return node.constant(DType::kF32, {}, {value}); };
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_pow, {size, number(order)}));
  PANTOUM_ASSIGN(y, node.reduce(Kind::k_reduce_sum, y, dimensions, keep));
  return node.set(node.op(Kind::k_pow, {y, number(1 / order)}));
}

// Any: the most of truths. All: the least.
template <bool kAll>
Result<void> lower_any(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, DType::kBool));
  PANTOUM_ASSIGN(const Over over, read_over(node, x));
  return node.set(extreme(node, x, over, kAll));
}

// A product is taken half by half: it is right where an element is 0 or below, too.
Result<ValueId> product_along(Node& node, ValueId x, int64_t axis) {
  const auto d = static_cast<size_t>(axis);
  while (node.shape_of(x)[d] > 1) {
    const Shape shape = node.shape_of(x);
    const int64_t half = shape[d] / 2;
    std::vector<int64_t> attributes(2 * shape.size(), 0);
    for (size_t each = 0; each < shape.size(); ++each) attributes[2 * each + 1] = 1;
    const auto part = [&](int64_t begin, int64_t count) {
      std::vector<int64_t> where = attributes;
      where[2 * d] = begin;
      ir::TensorType type = node.type_of(x);
      type.shape[d] = count;
      return node.op(Kind::k_slice, {x}, {where, {}}, {type});
    };
    PANTOUM_ASSIGN(const ValueId first, part(0, half));
    PANTOUM_ASSIGN(const ValueId second, part(half, half));
    PANTOUM_ASSIGN(ValueId both, node.op(Kind::k_mul, {first, second}));
    if (shape[d] % 2 == 1) {
      PANTOUM_ASSIGN(const ValueId last, part(shape[d] - 1, 1));
      both = node.builder().concat(node.label(), {both, last}, axis);
    }
    x = both;
  }
  return x;
}

Result<void> lower_product(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.as(kSelf, node.output().dtype));
  if (!node.has(kDim) || node.shape_of(x).empty()) {
    PANTOUM_ASSIGN(x, node.reshape(x, {node.type_of(x).elements()}));
  }
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, node.shape_of(x).size(), 0));
  PANTOUM_ASSIGN(x, product_along(node, x, axis));
  return node.set(node.reshape(x, node.output().shape));
}

Result<void> lower_cumsum(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.as(kSelf, node.output().dtype));
  if (node.shape_of(x).empty()) return node.set(0, x);
  PANTOUM_ASSIGN(const int64_t axis, node.dimension(kDim, node.shape_of(x).size(), 0));
  return node.set(node.op(Kind::k_cumsum, {x}, {{axis, 0, 0}, {}}));
}

// log of the sums of e^x up to each place, with the most of all taken out.
Result<void> lower_logcumsumexp(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  const auto along = static_cast<int64_t>(axis);
  PANTOUM_ASSIGN(ValueId most, node.reduce(Kind::k_reduce_max, x, {along}, true));
  PANTOUM_ASSIGN(most, detached(node, most));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_sub, {x, most}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_exp, {y}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_cumsum, {y}, {{along, 0, 0}, {}}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_log, {y}));
  return node.set(node.op(Kind::k_add, {y, most}));
}

// Products up to each place: each is multiplied by those 1, 2, 4, .. before it.
Result<void> lower_cumprod(Node& node) {
  PANTOUM_ASSIGN(ValueId x, node.as(kSelf, node.output().dtype));
  if (node.shape_of(x).empty()) return node.set(0, x);
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  const int64_t extent = node.shape_of(x)[axis];
  for (int64_t shift = 1; shift < extent; shift *= 2) {
    PANTOUM_ASSIGN(ValueId before, piece(node, x, axis, 0, extent - shift));
    PANTOUM_ASSIGN(before, padded(node, before, axis, shift, 0, 1));
    PANTOUM_ASSIGN(x, node.op(Kind::k_mul, {x, before}));
  }
  return node.set(0, x);
}

// log of the sum of e^x, with the most taken out.
Result<void> lower_logsumexp(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const Over over, read_over(node, x));
  PANTOUM_ASSIGN(ValueId most, node.reduce(Kind::k_reduce_max, x, over.dimensions, true));
  PANTOUM_ASSIGN(most, detached(node, most));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_sub, {x, most}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_exp, {y}));
  PANTOUM_ASSIGN(y, node.reduce(Kind::k_reduce_sum, y, over.dimensions, true));
  PANTOUM_ASSIGN(y, node.op(Kind::k_log, {y}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_add, {y, most}));
  return node.set(node.reshape(y, node.output().shape));
}

constexpr std::array kReductions = {OperatorEntry{"sum.default", lower_sum_all<Kind::k_reduce_sum>},
                                    OperatorEntry{"sum.dim_IntList", lower_sum<Kind::k_reduce_sum>},
                                    OperatorEntry{"mean.default", lower_sum_all<Kind::k_reduce_mean>},
                                    OperatorEntry{"mean.dim", lower_sum<Kind::k_reduce_mean>},
                                    OperatorEntry{"amax.default", lower_extreme_over<false>},
                                    OperatorEntry{"amin.default", lower_extreme_over<true>},
                                    OperatorEntry{"max.default", lower_extreme_of_all<false>},
                                    OperatorEntry{"min.default", lower_extreme_of_all<true>},
                                    OperatorEntry{"max.dim", lower_extreme_with_index<false>},
                                    OperatorEntry{"min.dim", lower_extreme_with_index<true>},
                                    OperatorEntry{"argmax.default", lower_arg_extreme<false>, false},
                                    OperatorEntry{"argmin.default", lower_arg_extreme<true>, false},
                                    OperatorEntry{"var.correction", lower_variance<false>},
                                    OperatorEntry{"std.correction", lower_variance<true>},
                                    OperatorEntry{"var_mean.correction", lower_var_mean},
                                    OperatorEntry{"linalg_vector_norm.default", lower_vector_norm},
                                    OperatorEntry{"any.default", lower_any<false>, false},
                                    OperatorEntry{"any.dim", lower_any<false>, false},
                                    OperatorEntry{"any.dims", lower_any<false>, false},
                                    OperatorEntry{"all.default", lower_any<true>, false},
                                    OperatorEntry{"all.dim", lower_any<true>, false},
                                    OperatorEntry{"all.dims", lower_any<true>, false},
                                    OperatorEntry{"prod.default", lower_product},
                                    OperatorEntry{"prod.dim_int", lower_product},
                                    OperatorEntry{"cumsum.default", lower_cumsum},
                                    OperatorEntry{"logcumsumexp.default", lower_logcumsumexp},
                                    OperatorEntry{"cumprod.default", lower_cumprod},
                                    OperatorEntry{"logsumexp.default", lower_logsumexp}};

}  // namespace

Result<ValueId> root_of_squares(Node& node, ValueId sum) {
  const ValueId zero = node.constant(DType::kF32, {}, {0}), one = node.constant(DType::kF32, {}, {1});
  PANTOUM_ASSIGN(const ValueId nothing, node.op(Kind::k_compare, {sum, zero}, {{PT_COMPARE_EQUAL}, {}}));
  PANTOUM_ASSIGN(ValueId y, chosen(node, nothing, one, sum));
  PANTOUM_ASSIGN(y, node.op(Kind::k_sqrt, {y}));
  return chosen(node, nothing, zero, y);
}

std::span<const OperatorEntry> reduce_operators() {
  return kReductions;
}

}  // namespace pantoum::aten
