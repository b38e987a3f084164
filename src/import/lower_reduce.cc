// Reductions, and what runs along one axis: ArgMax and ArgMin, cumulative sums, TopK. A reduction that is no sum, mean or maximum is
// composed of them.
#include <algorithm>
#include <limits>

#include "import/operators.h"
#include "import/parameter_marks.h"

namespace pantoum::import {
namespace {

struct Over {
  Value x;
  Integers axes;  // empty: nothing is reduced
  bool keeps = true;

  // Without dimensions to reduce, `y` itself.
  Value reduced(Kind kind, const Value& y) const {
    return axes.empty() || y.rank() == 0 ? y : reduce(kind, y, axes, false);
  }
  // The dimensions that are not reduced.
  Shape left() const {
    Shape shape;
    for (size_t d = 0; d < x.rank(); ++d)
      if (std::ranges::find(axes, static_cast<int64_t>(d)) == axes.end()) shape.push_back(x.shape()[d]);
    return shape;
  }
  Shape kept() const {
    Shape shape = x.shape();
    for (const int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
    return shape;
  }
};

Result<Over> read_over(Node& node, const Value& x) {
  Over over{x, {}, node.attributes().integer("keepdims", 1) != 0};
  const auto told = node.integers_or_attribute(1, "axes");
  PANTOUM_ASSIGN(over.axes, normalize_axes(told.value_or(over.axes), x.rank()));
  const bool all = over.axes.empty() && node.attributes().integer("noop_with_empty_axes", 0) == 0;
  for (size_t d = 0; all && d < x.rank(); ++d) over.axes.push_back(static_cast<int64_t>(d));
  return over;
}

Result<void> finish(Node& node, const Value& y, const Over& over) {
  return node.set(over.keeps && y ? reshape(y, over.kept()) : y);
}

// Floating point, integers, or bools, which have an order.
Value ordered(Node& node) {
  return node.type(0).dtype == DType::kBool ? node.value(0) : node.numeric(0);
}

// Of a constant without elements: the sum is 0, the product 1, the mean NaN.
Result<void> set_of_nothing(Node& node, const Over& over, double value) {
  Shape shape = over.kept();
  for (size_t at = over.axes.size(); !over.keeps && at-- > 0;) shape.erase(shape.begin() + over.axes[at]);
  return node.set(expand(node.number(over.x.dtype(), value), shape));
}

Result<void> lower_reduce_sum(Node& node) {
  PANTOUM_ASSIGN(const Over over, read_over(node, node.numeric(0)));
  if (over.x.elements() == 0) return set_of_nothing(node, over, 0);
  return finish(node, over.reduced(Kind::k_reduce_sum, over.x), over);
}

// The sum of integers is divided towards zero.
Result<void> lower_reduce_mean(Node& node) {
  PANTOUM_ASSIGN(const Over over, read_over(node, node.numeric(0)));
  if (over.x.is_real()) {
    if (over.x.elements() == 0) return set_of_nothing(node, over, std::numeric_limits<double>::quiet_NaN());
    return finish(node, over.reduced(Kind::k_reduce_mean, over.x), over);
  }
  const Value sum = over.reduced(Kind::k_reduce_sum, over.x);
  int64_t count = 1;
  for (const int64_t axis : over.axes) count *= over.x.shape()[static_cast<size_t>(axis)];
  return finish(node, sum / node.whole(over.x.dtype(), {}, {count}), over);
}

// Equal ones share the gradient. The newer exporter tells of torch.max along a dimension, whose first place gets all of it.
// The least are the largest opposites, turned around.
template <bool kLeast>
Result<void> lower_reduce_extreme(Node& node) {
  PANTOUM_ASSIGN(const Over over, read_over(node, ordered(node)));
  const std::string target = read_fx_call(node.message()).target;
  if ((target == "max.dim" || target == "min.dim") && over.axes.size() == 1)
    return finish(node, reshape(extreme_along(over.x, static_cast<size_t>(over.axes[0]), kLeast)[0], over.left()),
                  over);
  if (!kLeast) return finish(node, over.reduced(Kind::k_reduce_max, over.x), over);
  return finish(node, opposite(over.reduced(Kind::k_reduce_max, opposite(over.x))), over);
}

Value itself(const Value& x) {
  return x;
}

// A function of floating-point numbers. For integers the result is truncated.
template <Value (*kFunction)(const Value&)>
Value by_real(const Value& x) {
  return cast(kFunction(cast(x, DType::kF32)), x.dtype());
}

// A function of the sum of a function of the elements.
template <Value (*kOfEach)(const Value&), Value (*kOfSum)(const Value&)>
Result<void> lower_sum_of(Node& node) {
  PANTOUM_ASSIGN(const Over over, read_over(node, node.numeric(0)));
  return finish(node, kOfSum(over.reduced(Kind::k_reduce_sum, kOfEach(over.x))), over);
}

// max + log(sum(e^(x - max))): no power overflows.
Result<void> lower_reduce_log_sum_exp(Node& node) {
  PANTOUM_ASSIGN(const Over over, read_over(node, node.real(0)));
  const Value most = over.reduced(Kind::k_reduce_max, over.x);
  const Value powers = exp(over.x - reshape(most, over.kept()));
  return finish(node, log(over.reduced(Kind::k_reduce_sum, powers)) + most, over);
}

Result<void> lower_reduce_prod(Node& node) {
  PANTOUM_ASSIGN(const Over over, read_over(node, node.numeric(0)));
  if (over.x.elements() == 0) return set_of_nothing(node, over, 1);
  Value y = over.x;
  for (const int64_t axis : over.axes) y = product(y, static_cast<size_t>(axis));
  return finish(node, reshape(y, over.left()), over);
}

Result<void> lower_expand(Node& node) {
  const Value x = node.value(0);
  const Shape wanted = node.integers(1, "target shape");
  const auto shape = count_elements(wanted) ? broadcast_shapes(x.shape(), wanted) : std::nullopt;
  if (!shape) return fail("E0211", "its input does not broadcast to the shape " + ir::to_text(wanted));
  return node.set(expand(x, *shape));
}

// The first maximum, or the last: the first from the other end.
Value position_of_maximum(const Value& x, size_t axis, bool last) {
  const Attrs along{{static_cast<int64_t>(axis)}, {}};
  if (!last || !x) return apply(Kind::k_arg_max, x, along);
  const int64_t end = x.shape()[axis] - 1;
  const Value behind = apply(Kind::k_arg_max, piece(x, axis, end, end + 1, -1), along);
  return x.in().whole(DType::kI64, {}, {end}) - behind;
}

template <bool kMinimum>
Result<void> lower_arg(Node& node) {
  const Value x = node.numeric(0);
  Shape shape = x.shape();
  PANTOUM_ASSIGN(const size_t axis, node.axis(shape.size()));
  const bool last = node.attributes().integer("select_last_index", 0) != 0;
  const Value place = position_of_maximum(kMinimum ? opposite(x) : x, axis, last);
  if (node.attributes().integer("keepdims", 1) == 0) return node.set(place);
  shape[axis] = 1;
  return node.set(reshape(place, shape));
}

Result<void> lower_cumsum(Node& node) {
  const Value x = node.numeric(0);
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.integer(1, "axis"), x.rank()));
  const int64_t exclusive = node.attributes().integer("exclusive", 0) != 0,
                reverse = node.attributes().integer("reverse", 0) != 0;
  return node.set(apply(Kind::k_cumsum, x, {{axis, exclusive, reverse}, {}}));
}

Result<void> lower_top_k(Node& node) {
  const Shape shape = node.shape(0);
  PANTOUM_ASSIGN(const size_t axis, node.axis(shape.size(), -1));
  const int64_t most = node.integer(1, "K");
  if (most < 1 || most > shape[axis]) return misfit("its K is not between 1 and the extent of its axis");
  const Value x = node.numeric(0);
  const Value where_they_are = top_k(x, axis, most, node.attributes().integer("largest", 1) != 0);
  PANTOUM_TRY(node.set(1, where_they_are));
  return node.wants(0) ? node.set(gather_elements(x, where_they_are, axis)) : node.refusal();
}

constexpr const char* kConstantAxes = "constant axes";
constexpr const char* kReduced = "float32, int64, int32, uint8; constant axes";
constexpr const char* kWholeResult = "its result is an integer: no gradient passes";
constexpr OperatorEntry kReduceOperators[] = {
    {"ReduceMean", lower_reduce_mean, "reduce_sum div reduce_mean", kReduced},
    {"ReduceSum", lower_reduce_sum, "reduce_sum", kReduced},
    {"ReduceMax", lower_reduce_extreme<false>, "reduce_max arg_max gather_elements",
     "float32, int64, int32, uint8, bool; constant axes; equal maxima share the gradient evenly; where PyTorch's newer "
     "exporter tells of "
     "torch.max along a dimension, the first gets all of it"},
    {"ReduceMin", lower_reduce_extreme<true>, "bitwise reduce_max neg arg_max gather_elements",
     "float32, int64, int32, uint8, bool; constant axes; equal minima as equal maxima"},
    {"ReduceL1", lower_sum_of<abs, itself>, "sub maximum abs reduce_sum", kReduced},
    {"ReduceL2", lower_sum_of<square, by_real<root_of_squares>>, "mul reduce_sum cast compare where sqrt",
     "float32, int64, int32, uint8; constant axes; the gradient of a norm of 0 is 0"},
    {"ReduceSumSquare", lower_sum_of<square, itself>, "mul reduce_sum", kReduced},
    {"ReduceLogSum", lower_sum_of<itself, by_real<log>>, "reduce_sum cast log", kReduced},
    {"ReduceLogSumExp", lower_reduce_log_sum_exp, "reduce_max sub exp reduce_sum log add", kConstantAxes},
    {"ReduceProd", lower_reduce_prod, "slice mul concat", kReduced},
    {"Expand", lower_expand, "expand", "the shape must be known while importing"},
    {"ArgMax", lower_arg<false>, "slice sub arg_max", kWholeResult},
    {"ArgMin", lower_arg<true>, "neg bitwise slice sub arg_max", kWholeResult},
    {"CumSum", lower_cumsum, "cumsum", "float32, int64, int32, uint8; constant axis"},
    {"TopK", lower_top_k, "top_k gather_elements",
     "float32, int64, int32, uint8; constant K; always sorted, of equal elements the first first, NaN as "
     "the largest; no gradient passes through the indices; constants are folded"}};

}  // namespace

constinit const Family reduce_operators = kReduceOperators;

}  // namespace pantoum::import
