// Reductions and scans.

#include "aten/operators.h"

namespace pantoum::aten {

namespace {

struct Over {
  Integers dimensions;  // empty: all
  bool keep = false;
};

Over read_over(Node& node, const Value& x) {
  const Integers dimensions = node.dimensions(kDim, x.rank());
  return {dimensions, node.boolean({2, "keepdim"}, false)};
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

// Values and positions: the gradient goes to the position alone.
template <bool kLeast>
Result<void> lower_extreme_with_index(Node& node) {
  const Value x = node.tensor(kSelf);
  const size_t axis = node.dimension(kDim, x.rank(), -1);
  if (x.rank() == 0) return node.set_both(x, node.whole(DType::kI64, {}, {0}));
  const Values found = import::extreme_along(x, axis, kLeast);
  PANTOUM_TRY(node.refusal());
  return node.set_both(reshape(found[0], node.wanted_shape()), reshape(found[1], node.wanted_shape()));
}

template <bool kLeast>
Result<void> lower_arg_extreme(Node& node) {
  const Value given = node.tensor(kSelf), x = !node.has(kDim) || given.rank() == 0 ? flattened(given) : given;
  return node.set_reshaped(position_of_extreme(x, node.dimension(kDim, x.rank(), 0), kLeast));
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
    TensorType ones = x.type();
    ones.shape[axis] = shift;
    const Value before = piece(x, axis, 0, extent - shift);
    x = x * concat({expand(node.number(ones.dtype, 1), ones.shape), before}, axis);
  }
  return node.set(x);
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
                                         {"any.default any.dim any.dims", lower_any<false>, false},
                                         {"all.default all.dim all.dims", lower_any<true>, false},
                                         {"prod.default prod.dim_int", lower_product},
                                         {"cumsum.default", lower_cumsum},
                                         {"logcumsumexp.default", lower_logcumsumexp},
                                         {"cumprod.default", lower_cumprod}};

}  // namespace

constinit const Family reduce_operators = kReductions;

}  // namespace pantoum::aten
