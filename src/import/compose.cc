#include "import/compose.h"

#include "import/tensor.h"
#include "pantoum/pantoum.h"

namespace pantoum::import {

namespace {

using ir::Builder;

constexpr int kMostOps = 64;  // that one search looks at: concats of concats branch

ValueId search(Builder& builder, ValueId x, size_t axis, int64_t index, int& ops);

// Along the axis the part that holds the index; along another one all of them.
ValueId of_concat(Builder& builder, const Op& concat, size_t axis, int64_t index, int& ops) {
  const auto joined = static_cast<size_t>(concat.attrs.ints[0]);
  std::vector<ValueId> picked;
  for (const ValueId part : concat.inputs) {
    const int64_t extent = builder.type(part).shape[axis];
    if (joined == axis && index >= extent) {
      index -= extent;
      continue;
    }
    picked.push_back(extent == 1 ? part : search(builder, part, axis, index, ops));
    if (picked.back() == ir::kNone) return ir::kNone;
    if (joined == axis) return picked[0];
  }
  return builder.concat(concat.name + ".part", picked, concat.attrs.ints[0]);
}

ValueId of_transpose(Builder& builder, const Op& transpose, size_t axis, int64_t index, int& ops) {
  const auto from = static_cast<size_t>(transpose.attrs.ints[axis]);
  const ValueId part = search(builder, transpose.inputs[0], from, index, ops);
  return part == ir::kNone ? ir::kNone : builder.transpose(transpose.name + ".part", part, transpose.attrs.ints);
}

ValueId of_reshape(Builder& builder, const Op& alias, size_t axis, int64_t index, int& ops) {
  const Shape from = builder.type(alias.inputs[0]).shape;
  Shape to = builder.type(alias.outputs[0]).shape;
  int64_t before = 1, before_from = 1;
  for (size_t d = 0; d < axis; ++d) before *= to[d];
  for (size_t d = 0; d < from.size() && before_from <= before; before_from *= from[d], ++d) {
    if (before_from != before || from[d] != to[axis]) continue;
    const ValueId part = search(builder, alias.inputs[0], d, index, ops);
    to[axis] = 1;
    return part == ir::kNone ? ir::kNone : builder.reshape(part, to);
  }
  return ir::kNone;
}

// The state behind the last step of a recurrent network is an output of its own.
ValueId of_sequence(Builder& builder, const Op& sequence, ValueId x, size_t axis, int64_t index) {
  constexpr size_t kLast = 3;
  Shape shape = builder.type(x).shape;
  const int64_t last = sequence.attrs.ints.back() != 0 ? 0 : shape[0] - 1;
  if (x != sequence.outputs[0] || axis != 0 || index != last) return ir::kNone;
  shape[0] = 1;
  return builder.reshape(sequence.outputs[kLast], shape);
}

ValueId search(Builder& builder, ValueId x, size_t axis, int64_t index, int& ops) {
  const OpId producer = builder.graph().value(x).producer;
  if (producer == ir::kNone || ++ops > kMostOps) return ir::kNone;
  const Op op = builder.graph().op(producer);  // a copy: the graph grows
  if (op.kind == Kind::k_concat) return of_concat(builder, op, axis, index, ops);
  if (op.kind == Kind::k_transpose) return of_transpose(builder, op, axis, index, ops);
  if (op.kind == Kind::k_lstm_sequence || op.kind == Kind::k_gru_sequence)
    return of_sequence(builder, op, x, axis, index);
  if (op.kind == Kind::k_alias) return of_reshape(builder, op, axis, index, ops);
  return ir::kNone;
}

}  // namespace

ValueId concat_part(Builder& builder, ValueId x, size_t axis, int64_t index) {
  int ops = 0;
  return search(builder, x, axis, index, ops);
}

Failure unsupported(std::string why, std::string help) {
  return fail("E0401", std::move(why), {}, std::move(help));
}

namespace {

int64_t signed_of(size_t axis) {
  return static_cast<int64_t>(axis);
}

}  // namespace

TensorType Value::type() const {
  if (id_ == ir::kNone) return {DType::kF32, Shape(PT_MAX_RANK, 1)};
  return in_->builder().type(id_);
}

Value Composer::refuse(Failure failure) {
  if (!refusal_) refusal_ = std::move(failure).error();
  return at(ir::kNone);
}

Result<void> Composer::refusal() const {
  if (refusal_) return Failure(*refusal_);
  return {};
}

// The result of a pointwise op on operands without elements; an empty value if the operands have elements.
Value Composer::nothing_of(Kind kind, const std::vector<TensorType>& types, const std::vector<TensorType>& given) {
  TensorType made = given.empty() ? types.back() : given[0];
  if (kind == Kind::k_compare) made.dtype = DType::kBool;
  for (const TensorType& type : types) {
    const auto shape = broadcast_shapes(made.shape, type.shape);
    if (!shape) return {};
    made.shape = *shape;
  }
  return made.elements() == 0 ? whole(made.dtype, made.shape, {}) : Value();
}

Values Composer::ops(Kind kind, const Values& inputs, Attrs attrs, std::vector<TensorType> given) {
  constexpr size_t kMostOutputs = 8;
  const Values none(std::max(given.size(), kMostOutputs), at(ir::kNone));
  std::vector<ValueId> ids;
  for (const Value& input : inputs) {
    if (!input) refuse(misfit("an operand is missing"));
    ids.push_back(input);
  }
  if (refusal_) return none;
  const std::vector<TensorType> types = ir::types_of(builder().graph(), ids);
  if (scope_.folds && ir::op_def(kind).traits.pointwise)
    if (const Value nothing = nothing_of(kind, types, given)) return {nothing};
  if (auto inferred = ir::infer_types(kind, {types, given, attrs}); !inferred) {
    refuse(Failure(std::move(inferred).error()));
    return none;
  }
  Values made;
  for (const ValueId id : builder().add(kind, label_, std::move(ids), std::move(attrs), std::move(given)))
    made.push_back(at(id));
  return made;
}

Value Composer::op(Kind kind, const Values& inputs, Attrs attrs, std::vector<TensorType> given) {
  return ops(kind, inputs, std::move(attrs), std::move(given))[0];
}

Value Composer::constant(DType dtype, Shape shape, const std::vector<double>& values) {
  const Tensor made = make_tensor(dtype, std::move(shape), values);
  return at(builder().constant(label_ + ".constant", made.type, made.data));
}

Value Composer::whole(DType dtype, Shape shape, const Integers& values) {
  const Tensor made = make_tensor(dtype, std::move(shape), values);
  return at(builder().constant(label_ + ".constant", made.type, made.data));
}

Value Composer::number(DType dtype, double value) {
  return ir::is_float(dtype) ? constant(dtype, {}, {value}) : whole(dtype, {}, {static_cast<int64_t>(value)});
}

Value Composer::positions(int64_t count, Shape shape, int64_t first, int64_t step, DType dtype) {
  Integers all(static_cast<size_t>(count));
  for (size_t at = 0; at < all.size(); ++at) all[at] = first + step * static_cast<int64_t>(at);
  return whole(dtype, std::move(shape), all);
}

bool Composer::try_spend(int64_t elements) {
  if (elements > scope_.constant_budget) return false;
  scope_.constant_budget -= elements;
  return true;
}

bool Composer::spend(int64_t elements) {
  if (try_spend(elements)) return true;
  refuse(unsupported(fmt::format("the constants that it needs, of {} elements, are too large", elements)));
  return false;
}

Value Composer::filled(int64_t count, float element) {
  const auto [entry, is_new] = scope_.filled.try_emplace({count, element}, ir::kNone);
  if (entry->second != ir::kNone) return at(entry->second);
  if (!spend(count)) return at(ir::kNone);
  const std::vector<float> elements(static_cast<size_t>(count), element);
  entry->second = builder().constant_f32(fmt::format("constant.{}x{}", count, element), {count}, elements);
  return at(entry->second);
}

Value apply(Kind kind, const Value& x, Attrs attrs) {
  return x.in().op(kind, {x}, std::move(attrs));
}
Value operator+(const Value& a, const Value& b) {
  return a.in().op(Kind::k_add, {a, b});
}
Value operator-(const Value& a, const Value& b) {
  return a.in().op(Kind::k_sub, {a, b});
}
Value operator*(const Value& a, const Value& b) {
  return a.in().op(Kind::k_mul, {a, b});
}
Value operator/(const Value& a, const Value& b) {
  return a.in().op(Kind::k_div, {a, b});
}
Value scale(const Value& x, double factor, double offset) {
  return factor == 1 && offset == 0 ? x : apply(Kind::k_scale, x, {{}, {factor, offset}});
}
Value operator-(const Value& x) {
  return x.is_real() ? apply(Kind::k_neg, x) : x.in().number(x.dtype(), 0) - x;
}
Value negative(const Value& x) {
  return -x;
}
Value square(const Value& x) {
  return x * x;
}
Value reciprocal(const Value& x) {
  return x.in().number(DType::kF32, 1) / x;
}
Value abs(const Value& x) {
  if (x.is_real()) return apply(Kind::k_abs, x);
  return x.dtype() == DType::kU8 ? x : maximum(x, -x);
}
Value sign(const Value& x) {
  if (x.is_real()) return apply(Kind::k_sign, x);
  const Value above = x.dtype() == DType::kU8 ? x : maximum(x, x.in().number(x.dtype(), -1));
  return minimum(above, x.in().number(x.dtype(), 1));
}
Value relu(const Value& x) {
  return x.is_real() ? apply(Kind::k_relu, x) : maximum(x, x.in().number(x.dtype(), 0));
}
Value exp(const Value& x) {
  return apply(Kind::k_exp, x);
}
Value log(const Value& x) {
  return apply(Kind::k_log, x);
}
Value sqrt(const Value& x) {
  return apply(Kind::k_sqrt, x);
}
Value tanh(const Value& x) {
  return apply(Kind::k_tanh, x);
}
Value sigmoid(const Value& x) {
  return apply(Kind::k_sigmoid, x);
}
Value softplus(const Value& x) {
  return apply(Kind::k_softplus, x);
}
Value mish(const Value& x) {
  return x * tanh(softplus(x));
}
Value tan(const Value& x) {
  const Value sine = apply(Kind::k_sin, x);
  return sine / apply(Kind::k_cos, x);
}
// (e^x + e^-x) / 2
Value cosh(const Value& x) {
  const Value rising = exp(x);
  return (rising + exp(-x)) * 0.5;
}
Value pow(const Value& x, const Value& exponent) {
  return x.in().op(Kind::k_pow, {x, exponent});
}
Value maximum(const Value& a, const Value& b) {
  return a.in().op(Kind::k_maximum, {a, b});
}
Value minimum(const Value& a, const Value& b) {
  return a.in().op(Kind::k_minimum, {a, b});
}
Value clip(const Value& x, double least, double most) {
  return apply(Kind::k_clip, x, {{}, {least, most}});
}
Value rounded(const Value& x, Rounding way) {
  return apply(Kind::k_round, x, {{way}, {}});
}
Value cast(const Value& x, DType dtype) {
  return x.dtype() == dtype ? x : x.in().op(Kind::k_cast, {x}, {}, {{dtype, x.shape()}});
}
Value compare(const Value& a, int64_t relation, const Value& b) {
  return a.in().op(Kind::k_compare, {a, b}, {{relation}, {}});
}
Value compare(const Value& a, int64_t relation, double b) {
  return compare(a, relation, a.in().number(a.dtype(), b));
}
Value where(const Value& condition, const Value& a, const Value& b) {
  return condition.in().op(Kind::k_where, {condition, a, b});
}
Value bitwise(const Value& a, int64_t operation, const Value& b) {
  return a.in().op(Kind::k_bitwise, {a, b}, {{operation}, {}});
}
Value bits_inverted(const Value& x) {
  return bitwise(x, PT_BITWISE_XOR, x.in().number(x.dtype(), -1));
}
Value inverted(const Value& truth) {
  return compare(truth, PT_COMPARE_EQUAL, 0);
}
Value is_nan(const Value& x) {
  return inverted(compare(x, PT_COMPARE_EQUAL, x));
}
Value not_below(const Value& x, const Value& least) {
  return where(compare(x, PT_COMPARE_LESS, least), least, x);
}
Value not_above(const Value& x, const Value& most) {
  return where(compare(x, PT_COMPARE_GREATER, most), most, x);
}
Value chosen_above(const Value& x, double threshold, const Value& other) {
  return where(compare(x, PT_COMPARE_GREATER, threshold), x, other);
}
Value prelu(const Value& x, const Value& slope) {
  return chosen_above(x, 0, slope * x);
}
Value log_sigmoid(const Value& x) {
  return -softplus(-x);
}

namespace {

template <class Function>
Value with_zero(const Value& x, const Function& function) {
  const Value zero = x.in().number(DType::kF32, 0), one = x.in().number(DType::kF32, 1);
  const Value nothing = compare(x, PT_COMPARE_EQUAL, zero);
  return where(nothing, zero, function(where(nothing, one, x)));
}

}  // namespace

Value root_of_squares(const Value& sum) {
  return with_zero(sum, [](const Value& some) { return sqrt(some); });
}
Value root_of_powers(const Value& sum, double exponent) {
  return with_zero(sum, [&](const Value& some) { return pow(some, some.in().number(DType::kF32, exponent)); });
}
Value opposite(const Value& x) {
  return x.is_real() ? -x : bits_inverted(x);
}
Value detached(const Value& x) {
  return x.in().op(Kind::k_alias, {x}, {{1}, {}}, {x.type()});
}
Value softmax(const Value& x, size_t axis) {
  return apply(Kind::k_softmax, x, {{signed_of(axis)}, {}});
}
Value log_softmax(const Value& x, size_t axis) {
  return apply(Kind::k_log_softmax, x, {{signed_of(axis)}, {}});
}

Value reshape(const Value& x, Shape shape) {
  if (x.shape() == shape) return x;
  if (x.elements() == 0) return x.in().whole(x.dtype(), std::move(shape), {});  // while folding
  return x.in().op(Kind::k_alias, {x}, {}, {{x.dtype(), std::move(shape)}});
}

Value flattened(const Value& x) {
  return reshape(x, {x.elements()});
}

Value transpose(const Value& x, const Integers& perm) {
  if (!x) return x;
  const TensorType type = x.type();
  const auto inferred = ir::infer_types(Kind::k_transpose, {{&type, 1}, {}, {perm, {}}});
  if (!inferred) return x.in().refuse(Failure(inferred.error()));
  return x.in().at(x.in().builder().transpose(x.in().label(), x, perm));
}

Value expand(const Value& x, Shape shape) {
  if (x.shape() == shape) return x;
  return x.in().op(Kind::k_expand, {x}, {{}, {1.0}}, {{x.dtype(), std::move(shape)}});
}

// One dimension after the other: [a,b] -> [a,1,b] -> [a,r,b] -> [a,r*b], so that the ranks stay small.
Value repeated(const Value& x, const Integers& times) {
  Shape shape = x.shape();
  Value y = x;
  for (size_t d = 0; d < std::min(shape.size(), times.size()); ++d) {
    if (times[d] == 1) continue;
    int64_t before = 1, behind = 1;
    for (size_t each = 0; each < shape.size(); ++each) (each < d ? before : behind) *= shape[each];
    y = expand(reshape(y, {before, 1, behind}), {before, times[d], behind});
    shape[d] *= times[d];
    y = reshape(y, shape);
  }
  return y;
}

Value piece(const Value& x, size_t axis, int64_t begin, int64_t count, int64_t step) {
  if (!x) return x;
  TensorType type = x.type();
  if (begin == 0 && step == 1 && count == type.shape[axis]) return x;
  Attrs places;
  for (size_t d = 0; d < type.shape.size(); ++d)
    places.ints.insert(places.ints.end(), {d == axis ? begin : 0, d == axis ? step : 1});
  type.shape[axis] = count;
  return x.in().op(Kind::k_slice, {x}, std::move(places), {std::move(type)});
}

namespace {

// Where one index of one axis is taken, and all of the others: that part, if x was concatenated from it.
ValueId known_part(const Value& x, const std::vector<SlicePiece>& pieces) {
  const Shape from = x.shape();
  size_t axis = pieces.size();
  for (size_t d = 0; d < pieces.size(); ++d) {
    if (pieces[d] == SlicePiece{0, 1, from[d]}) continue;
    if (axis != pieces.size() || pieces[d].count != 1) return ir::kNone;
    axis = d;
  }
  return axis == pieces.size() ? ir::kNone : concat_part(x.in().builder(), x, axis, pieces[axis].start);
}

}  // namespace

Value sliced(const Value& x, const std::vector<SlicePiece>& pieces) {
  if (!x) return x;
  if (const ValueId part = known_part(x, pieces); part != ir::kNone) return x.in().at(part);
  TensorType type = x.type();
  Attrs places;
  bool whole = true;
  for (size_t d = 0; d < pieces.size(); ++d) {
    places.ints.insert(places.ints.end(), {pieces[d].start, pieces[d].step});
    whole = whole && pieces[d] == SlicePiece{0, 1, type.shape[d]};
    type.shape[d] = pieces[d].count;
  }
  return whole ? x : x.in().op(Kind::k_slice, {x}, std::move(places), {std::move(type)});
}

Value with_zeros(const Value& x, const Integers& before, const Integers& after) {
  if (!x) return x;
  TensorType type = x.type();
  Attrs places;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    places.ints.insert(places.ints.end(), {before[d], 1});
    type.shape[d] += before[d] + after[d];
  }
  if (type.shape == x.shape()) return x;
  return x.in().op(Kind::k_slice_grad, {x}, std::move(places), {std::move(type)});
}

Value concat(const Values& parts, size_t axis) {
  std::vector<ValueId> ids(parts.begin(), parts.end());
  Composer& in = parts[0].in();
  if (!in.refusal()) return in.at(ir::kNone);
  return in.at(in.builder().concat(in.label(), std::move(ids), signed_of(axis)));
}

Values split(const Value& x, size_t axis, const Integers& extents) {
  if (!x) return Values(extents.size(), x);
  Values parts;
  for (const ValueId part : x.in().builder().split(x.in().label(), x, signed_of(axis), extents))
    parts.push_back(x.in().at(part));
  return parts;
}

Value gather(const Value& x, const Value& indices, size_t axis) {
  return x.in().op(Kind::k_gather, {x, indices}, {{signed_of(axis)}, {}});
}
Value gather_elements(const Value& x, const Value& indices, size_t axis) {
  return x.in().op(Kind::k_gather_elements, {x, indices}, {{signed_of(axis)}, {}});
}
Value scatter(const Value& x, const Value& indices, const Value& updates, size_t axis, int64_t how) {
  return x.in().op(Kind::k_scatter_elements, {x, indices, updates}, {{signed_of(axis), how}, {}});
}
Value apart(const Value& x) {
  Shape shape = x.shape();
  shape.push_back(1);
  return x ? reshape(x, std::move(shape)) : x;
}

namespace {

// y, whose gradient is multiplied by the factor.
Value with_gradient_of(const Value& y, const Value& factor) {
  const Value product = y * factor;
  return detached(y) + (product - detached(product));
}

}  // namespace

Value embedded(const Value& table, const Value& indices, int64_t padding, bool by_frequency) {
  Value y = gather(table, indices, 0);
  if (!y) return y;
  Composer& in = y.in();
  if (by_frequency) {
    const Value zeros = expand(in.number(DType::kF32, 0), {table.shape()[0]});
    const Value ones = expand(in.number(DType::kF32, 1), {indices.elements()});
    const Value counts = scatter(zeros, flattened(indices), ones, 0, PT_SCATTER_ADD);
    y = with_gradient_of(y, apart(in.number(DType::kF32, 1) / gather(counts, indices, 0)));
  }
  if (padding < 0) return y;
  const Value is_padding = apart(compare(indices, PT_COMPARE_EQUAL, in.whole(indices.dtype(), {}, {padding})));
  return where(is_padding, detached(y), y);
}
Value position_of_extreme(const Value& given, size_t axis, bool least) {
  const Value x = least ? opposite(given) : given;
  return apply(Kind::k_arg_max, x.is_real() ? x : cast(x, DType::kI64), {{signed_of(axis)}, {}});
}
Values extreme_along(const Value& x, size_t axis, bool least) {
  if (!x) return {x, x};
  Shape shape = x.shape();
  shape[axis] = 1;
  const Value at = reshape(position_of_extreme(x, axis, least), std::move(shape));
  return {gather_elements(x, at, axis), at};
}
Value top_k(const Value& x, size_t axis, int64_t count, bool largest) {
  return apply(Kind::k_top_k, x, {{signed_of(axis), count, largest ? 1 : 0}, {}});
}

Value by_channel(const Value& vector, size_t rank) {
  Shape wide(std::max<size_t>(rank, 2) - 1, 1);
  wide[0] = vector.elements();
  return reshape(vector, std::move(wide));
}

Value reduce(Kind kind, const Value& x, const Integers& dimensions, bool keep) {
  Shape kept = x.shape();
  if (kept.empty()) return x;
  int64_t mask = 0;
  for (const int64_t d : dimensions) mask |= int64_t{1} << d;
  if (dimensions.empty()) mask = (int64_t{1} << kept.size()) - 1;
  for (size_t d = 0; d < kept.size(); ++d)
    if ((mask >> d & 1) != 0) kept[d] = 1;
  const Value y = apply(kind, x, {{mask}, {}});
  return keep ? reshape(y, kept) : y;
}

Value sum_of_all(const Value& x) {
  return reduce(Kind::k_reduce_sum, x, {}, false);
}

// Halves are multiplied with each other until one element is left, which is right where an element is 0 or below, too.
Value product(const Value& x, size_t axis) {
  Value y = x;
  while (y && y.shape()[axis] > 1) {
    const int64_t extent = y.shape()[axis], half = extent / 2;
    const Value first = piece(y, axis, 0, half), second = piece(y, axis, half, half);
    const Value both = first * second;
    y = extent % 2 == 0 ? both : concat({both, piece(y, axis, extent - 1, 1)}, axis);
  }
  return y;
}

Values normalized_rows(const Value& x, int64_t width, double epsilon, const Value& ones, const Value& zeros) {
  Values made =
      x.in().ops(Kind::k_layer_norm, {reshape(x, {x.elements() / width, width}), ones, zeros}, {{1}, {epsilon}});
  made[0] = reshape(made[0], x.shape());
  return made;
}

Value normalized_by(const Value& x, const Value& scale, const Value& bias, const Value& mean, const Value& variance,
                    double epsilon) {
  const auto wide = [&](const Value& vector) { return by_channel(vector, x.rank()); };
  const Value factor = wide(scale), offset = wide(bias), center = wide(mean),
              deviation = sqrt(wide(variance) + epsilon);
  return (x - center) / deviation * factor + offset;
}

Value drawn(Composer& in, int64_t key, int64_t distribution, double a, double b, Shape shape) {
  return in.op(Kind::k_random, {}, {{key, distribution}, {a, b}}, {{DType::kF32, std::move(shape)}});
}

}  // namespace pantoum::import
