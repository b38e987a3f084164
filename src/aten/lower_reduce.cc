// Reductions and scans.
#include <algorithm>
#include <cmath>

#include "aten/operators.h"

namespace pantoum::aten {

using ir::DType;
using ir::Kind;
using ir::Shape;

Value root_of_squares(const Value& sum) {
  Composer& in = sum.in();
  const Value zero = in.number(DType::kF32, 0), one = in.number(DType::kF32, 1);
  const Value nothing = compare(sum, PT_COMPARE_EQUAL, zero);
  return where(nothing, zero, sqrt(where(nothing, one, sum)));
}

namespace {

struct Over {
  std::vector<int64_t> dimensions;  // empty: all
  bool keep = false;
};

Over read_over(Node& node, const Value& x, Slot keep = {2, "keepdim"}) {
  const std::vector<int64_t> dimensions = node.dimensions(kDim, x.rank());
  return {dimensions, node.boolean(keep, false)};
}

// In the captured type: sums of bools count.
template <Kind kKind>
Result<void> lower_sum(Node& node) {
  const Value x = node.as_output(kSelf);
  const Over over = read_over(node, x);
  return node.set(reduce(kKind, x, over.dimensions, over.keep));
}

// The same of all, where the second argument is none of dimensions.
template <Kind kKind>
Result<void> lower_sum_all(Node& node) {
  return node.set(reduce(kKind, node.as_output(kSelf), {}, false));
}

// Equal ones share the gradient.
Value extreme(const Value& x, const Over& over, bool least) {
  if (!least) return reduce(Kind::k_reduce_max, x, over.dimensions, over.keep);
  return opposite(reduce(Kind::k_reduce_max, opposite(x), over.dimensions, over.keep));
}

template <bool kLeast>
Result<void> lower_extreme_over(Node& node) {
  const Value x = node.tensor(kSelf);
  return node.set(extreme(x, read_over(node, x), kLeast));
}

template <bool kLeast>
Result<void> lower_extreme_of_all(Node& node) {
  return node.set(extreme(node.tensor(kSelf), {}, kLeast));
}

Value position_of_extreme(const Value& given, size_t axis, bool least) {
  const Value x = least ? opposite(given) : given;
  return apply(Kind::k_arg_max, x.is_real() ? x : cast(x, DType::kI64), {{static_cast<int64_t>(axis)}, {}});
}

// Values and positions: the gradient goes to the position alone.
template <bool kLeast>
Result<void> lower_extreme_with_index(Node& node) {
  const Value x = node.tensor(kSelf);
  Shape shape = x.shape();
  const size_t axis = node.dimension(kDim, shape.size(), -1);
  if (shape.empty()) return node.set_both(x, node.whole(DType::kI64, {}, {0}));
  shape[axis] = 1;
  const Value at = reshape(position_of_extreme(x, axis, kLeast), shape);
  const Value value = reshape(gather_elements(x, at, axis), node.wanted_shape());
  return node.set_both(value, reshape(at, node.wanted_shape()));
}

template <bool kLeast>
Result<void> lower_arg_extreme(Node& node) {
  const Value given = node.tensor(kSelf), x = !node.has(kDim) || given.rank() == 0 ? flattened(given) : given;
  return node.set_reshaped(position_of_extreme(x, node.dimension(kDim, x.rank(), 0), kLeast));
}

struct Variance {
  Value x;
  Over over;

  static Variance read(Node& node) {
    const Value x = node.real(kSelf);
    return {x, read_over(node, x, {9, "keepdim"})};
  }
  [[nodiscard]] Value value(Node& node) const {
    const double correction = node.number({9, "correction"}, 1);
    const Value d = x - reduce(Kind::k_reduce_mean, x, over.dimensions, true);
    const Value sum = reduce(Kind::k_reduce_sum, d * d, over.dimensions, over.keep);
    double count = 1;
    const Shape shape = x.shape();
    for (size_t at = 0; at < shape.size(); ++at)
      if (over.dimensions.empty() || std::ranges::binary_search(over.dimensions, static_cast<int64_t>(at)))
        count *= static_cast<double>(shape[at]);
    if (!(count > correction)) return node.refuse(unsupported("the variance of too few elements", "reduce over more"));
    return scale(sum, 1 / (count - correction));
  }
};

template <bool kRoot>
Result<void> lower_variance(Node& node) {
  const Value variance = Variance::read(node).value(node);
  return node.set(kRoot ? sqrt(variance) : variance);
}

Result<void> lower_var_mean(Node& node) {
  const Variance variance = Variance::read(node);
  const Value y = variance.value(node);
  return node.set_both(y, reduce(Kind::k_reduce_mean, variance.x, variance.over.dimensions, variance.over.keep));
}

Result<void> lower_vector_norm(Node& node) {
  const Value x = node.real(kSelf);
  const double order = node.number({1, "ord"}, 2);
  const std::vector<int64_t> dimensions = node.dimensions({2, "dim"}, x.rank());
  const Over over{dimensions, node.boolean({3, "keepdim"}, false)};
  const auto sum = [&](const Value& y) { return reduce(Kind::k_reduce_sum, y, over.dimensions, over.keep); };
  if (order == 2) return node.set(root_of_squares(sum(x * x)));
  const Value size = abs(x);
  if (order == 1) return node.set(sum(size));
  if (std::isinf(order)) return node.set(extreme(size, over, order < 0));
  if (order == 0) return node.set(sum(sign(size)));
  const Value powers = sum(pow(size, node.number(DType::kF32, order)));
  return node.set(pow(powers, node.number(DType::kF32, 1 / order)));
}

// Any: the most of truths. All: the least.
template <bool kAll>
Result<void> lower_any(Node& node) {
  const Value x = node.as(kSelf, DType::kBool);
  return node.set(extreme(x, read_over(node, x), kAll));
}

Result<void> lower_product(Node& node) {
  const Value given = node.as_output(kSelf), x = !node.has(kDim) || given.rank() == 0 ? flattened(given) : given;
  return node.set_reshaped(product(x, node.dimension(kDim, x.rank(), 0)));
}

Value sums_up_to(const Value& x, size_t axis) {
  return apply(Kind::k_cumsum, x, {{static_cast<int64_t>(axis), 0, 0}, {}});
}

Result<void> lower_cumsum(Node& node) {
  const Value x = node.as_output(kSelf);
  return node.set(x.rank() == 0 ? x : sums_up_to(x, node.dimension(kDim, x.rank(), 0)));
}

// log of the sums of e^x up to each place, with the most of all taken out.
Result<void> lower_logcumsumexp(Node& node) {
  const Value x = node.real(kSelf);
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  const Value most = detached(reduce(Kind::k_reduce_max, x, {static_cast<int64_t>(axis)}, true));
  return node.set(log(sums_up_to(exp(x - most), axis)) + most);
}

// Products up to each place: each is multiplied by those 1, 2, 4, .. before it.
Result<void> lower_cumprod(Node& node) {
  Value x = node.as_output(kSelf);
  if (x.rank() == 0) return node.set(x);
  PANTOUM_ASSIGN(const size_t axis, node.axis(kDim, x, 0));
  const int64_t extent = x.shape()[axis];
  for (int64_t shift = 1; shift < extent; shift *= 2) {
    ir::TensorType ones = x.type();
    ones.shape[axis] = shift;
    const Value before = piece(x, axis, 0, extent - shift);
    x = x * concat({expand(node.number(ones.dtype, 1), ones.shape), before}, axis);
  }
  return node.set(x);
}

// log of the sum of e^x, with the most taken out.
Result<void> lower_logsumexp(Node& node) {
  const Value x = node.real(kSelf);
  const Over over = read_over(node, x);
  const Value most = detached(reduce(Kind::k_reduce_max, x, over.dimensions, true));
  const Value sum = reduce(Kind::k_reduce_sum, exp(x - most), over.dimensions, true);
  return node.set_reshaped(log(sum) + most);
}

constexpr OperatorEntry kReductions[] = {{"sum.default", lower_sum_all<Kind::k_reduce_sum>},
                                         {"sum.dim_IntList", lower_sum<Kind::k_reduce_sum>},
                                         {"mean.default", lower_sum_all<Kind::k_reduce_mean>},
                                         {"mean.dim", lower_sum<Kind::k_reduce_mean>},
                                         {"amax.default", lower_extreme_over<false>},
                                         {"amin.default", lower_extreme_over<true>},
                                         {"max.default", lower_extreme_of_all<false>},
                                         {"min.default", lower_extreme_of_all<true>},
                                         {"max.dim", lower_extreme_with_index<false>},
                                         {"min.dim", lower_extreme_with_index<true>},
                                         {"argmax.default", lower_arg_extreme<false>, false},
                                         {"argmin.default", lower_arg_extreme<true>, false},
                                         {"var.correction", lower_variance<false>},
                                         {"std.correction", lower_variance<true>},
                                         {"var_mean.correction", lower_var_mean},
                                         {"linalg_vector_norm.default", lower_vector_norm},
                                         {"any.default any.dim any.dims", lower_any<false>, false},
                                         {"all.default all.dim all.dims", lower_any<true>, false},
                                         {"prod.default prod.dim_int", lower_product},
                                         {"cumsum.default", lower_cumsum},
                                         {"logcumsumexp.default", lower_logcumsumexp},
                                         {"cumprod.default", lower_cumprod},
                                         {"logsumexp.default", lower_logsumexp}};

}  // namespace

Family reduce_operators() {
  return kReductions;
}

}  // namespace pantoum::aten
