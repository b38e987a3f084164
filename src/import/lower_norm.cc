// Normalizations: BatchNormalization with training semantics, LayerNormalization, and those that are made of others.

#include "import/compose.h"
#include "import/operators.h"

namespace pantoum::import {
namespace {

// A running statistic: from the model's own contents, one buffer for all calls of a module, or a value that the model computes
// or is fed.
Value statistic(Node& node, size_t input) {
  const Operand& operand = *node.operand(input);
  if (!operand.known) return node.real(input);
  ValueId& kept = node.statistic(operand.name);
  if (kept != ir::kNone) return node.at(kept);
  Tensor known = *operand.known;
  if (known.type.dtype == DType::kF64) known = make_tensor(DType::kF32, known.type.shape, *to_reals(known));
  if (known.type.dtype != DType::kF32) return node.refuse(unsupported("its statistics are not floating-point numbers"));
  kept = node.builder().buffer(operand.name, known.type, known.data);
  return node.at(kept);
}

// Is the statistic stored in the file, or made from a stored one by an earlier call of the same step?
bool keeps_statistic(Node& node, size_t input) {
  const Operand& operand = *node.operand(input);
  return operand.known ||
         (operand.id != ir::kNone && kept_statistic(node.builder().graph(), operand.id, input - 3) != ir::kNone);
}

Result<void> update_statistics(Node& node, const Values& normalized) {
  const Value mean = statistic(node, 3), variance = statistic(node, 4);
  const TensorType x = node.type(0);
  // A count of 1 leaves the batch's variance as it is, in place of n / (n - 1) of it. The attribute is BatchNorm::biased_statistics of the builder.
  const bool biased = node.attributes().integer("pantoum_biased_statistics", 0) != 0;
  const int64_t per_channel = biased ? 1 : x.elements() / x.shape[1];
  if (per_channel == 1 && !biased && node.lowering().batch_chosen)
    return fail("E0211", "each of its channels has a single value, which has no variance", {}, "use a larger --batch");
  const double momentum = node.attributes().real("momentum", 0.9);
  if (!(momentum >= 0 && momentum <= 1)) return misfit("its momentum is not between 0 and 1");
  const Values next =
      node.ops(Kind::k_batch_norm_stats, {mean, variance, normalized[1], normalized[2]}, {{per_channel}, {momentum}});
  PANTOUM_TRY(node.refusal());
  Graph& graph = node.builder().graph();
  for (const size_t which : {0u, 1u}) {
    const ValueId id = which == 0 ? mean : variance;
    if (graph.value(id).role == ir::Role::kBuffer) graph.value(id).next = next[which];
    PANTOUM_TRY(node.set(which + 1, next[which]));
  }
  return {};
}

// In inference form, with statistics that the model computes or is fed: there are none to keep, and gradients pass.
Result<void> lower_computed_statistics(Node& node) {
  const Value x = node.real(0);
  const Shape image = node.shape(0);
  Values vectors;
  for (size_t input = 1; input < 5; ++input) {
    vectors.push_back(node.real(input));
    if (image.size() < 2 || node.shape(input) != Shape{image[1]})
      return misfit("its input {} does not have one element a channel", input);
  }
  node.note("normalized by the statistics that the model computes");
  return node.set(
      normalized_by(x, vectors[0], vectors[1], vectors[2], vectors[3], node.attributes().real("epsilon", 1e-5)));
}

Result<void> lower_batch_norm(Node& node) {
  if (node.wants(3) || node.wants(4)) return unsupported("its saved statistics are used");
  const bool training = is_training_norm(node.message());
  if (!training && !node.operand(3)->known && !node.operand(4)->known) return lower_computed_statistics(node);
  Values inputs;
  for (size_t input = 0; input < 3; ++input) inputs.push_back(node.real(input));
  const double epsilon = node.attributes().real("epsilon", 1e-5);
  if (!training && node.lowering().some_norm_trains) {  // its statistics stay as they are, and train nothing
    for (const size_t input : {3u, 4u}) inputs.push_back(statistic(node, input));
    node.note("uses its running statistics as they are, among others that train with those of the batch");
    return node.set(node.op(Kind::k_batch_norm_eval, inputs, {{}, {epsilon}}));
  }
  const Values normalized = node.ops(Kind::k_batch_norm, inputs, {{}, {epsilon}});
  PANTOUM_TRY(node.set(normalized[0]));
  const bool keeps = keeps_statistic(node, 3) && keeps_statistic(node, 4);
  if (!keeps && !node.wants(1) && !node.wants(2)) {
    node.note("keeps no statistics: trained and evaluated with those of the batch");
    return {};
  }
  PANTOUM_TRY(update_statistics(node, normalized));
  node.note(training ? "trained with the statistics of the batch"
                     : "exported for inference; trained with the statistics of the batch");
  return {};
}

// A scale or bias of exactly `shape`; absent: all elements `otherwise`.
Value row_vector(Node& node, size_t input, const Shape& shape, float otherwise) {
  const int64_t count = count_elements(shape).value_or(0);
  if (!node.has(input)) return reshape(node.filled(count, otherwise), shape);
  const Value vector = node.real(input);
  if (vector.elements() != count)
    return node.refuse(unsupported("its scale or bias is broadcast", "give it the normalized dimensions"));
  return reshape(vector, shape);
}

Result<void> lower_layer_norm(Node& node) {
  const Value x = node.real(0);
  Shape statistic = x.shape();
  PANTOUM_ASSIGN(const size_t axis, node.axis(statistic.size(), -1));
  const Shape row(statistic.begin() + static_cast<std::ptrdiff_t>(axis), statistic.end());
  // A missing bias costs memory: it must not be more than the model itself pays for the scale.
  const Value scale = row_vector(node, 1, row, 1.0F), bias = row_vector(node, 2, row, 0.0F);
  const Values made = node.ops(Kind::k_layer_norm, {x, scale, bias},
                               {{static_cast<int64_t>(axis)}, {node.attributes().real("epsilon", 1e-5)}});
  std::fill(statistic.begin() + static_cast<std::ptrdiff_t>(axis), statistic.end(), 1);
  for (const size_t which : {1u, 2u})
    if (node.wants(which)) PANTOUM_TRY(node.set(which, reshape(made[which], statistic)));
  return node.set(made[0]);
}

int64_t elements_from(const Shape& shape, size_t first) {
  int64_t count = 1;
  for (size_t d = first; d < shape.size(); ++d) count *= shape[d];
  return count;
}

// The vector of input `which` in `shape`, for broadcasting; left out where all of its elements are `neutral` for good.
Value vector_of(Node& node, size_t which, const Shape& shape, double neutral) {
  if (const Tensor* known = node.setting(which); known != nullptr && is_filled_with(*known, neutral)) return {};
  const Value vector = node.real(which);
  if (vector.elements() == elements_from(shape, 0)) return reshape(vector, shape);
  return node.refuse(misfit("its input {} has {} elements", which, vector.elements()));
}

Value with_scale_and_bias(Node& node, Value y, const Shape& shape) {
  if (const Value scale = vector_of(node, 1, shape, 1)) y = y * scale;
  if (const Value bias = vector_of(node, 2, shape, 0)) y = y + bias;
  return y;
}

// [C,1,..]: one element a channel.
Shape per_channel(const Shape& shape) {
  Shape channels(shape.size() - 1, 1);
  channels[0] = shape[1];
  return channels;
}

// Rows of `width` elements: a channel of a sample, or a group of channels.
Value normalize_rows(Node& node, const Value& x, int64_t width) {
  const Value ones = node.filled(width, 1), zeros = node.filled(width, 0);
  return normalized_rows(x, width, node.attributes().real("epsilon", 1e-5), ones, zeros)[0];
}

Result<void> lower_instance_norm(Node& node) {
  const Value x = node.real(0);
  if (x.rank() < 2) return misfit("its input has fewer than two dimensions");
  const Shape shape = x.shape();
  return node.set(with_scale_and_bias(node, normalize_rows(node, x, elements_from(shape, 2)), per_channel(shape)));
}

Result<void> lower_group_norm(Node& node) {
  const Value x = node.real(0);
  if (x.rank() < 2) return misfit("its input has fewer than two dimensions");
  const Shape shape = x.shape();
  const int64_t groups = node.attributes().integer("num_groups", 0);
  if (groups < 1 || shape[1] % groups != 0) return misfit("its groups do not divide the channels");
  const int64_t width = elements_from(shape, 1) / groups;
  return node.set(with_scale_and_bias(node, normalize_rows(node, x, width), per_channel(shape)));
}

// X / (bias + alpha / size * sum of squares)^beta; the squares of neighbouring channels are summed by an average pooling over
// [N,1,C,..].
Result<void> lower_lrn(Node& node) {
  const Value x = node.real(0);
  const Shape shape = x.shape();
  Attributes& attributes = node.attributes();
  const int64_t size = attributes.integer("size", 0), before = (size - 1) / 2;
  if (shape.size() < 2 || size < 1 || size > INT32_MAX) return misfit("its size is out of range");
  const Value squares = reshape(x * x, {shape[0], 1, shape[1], elements_from(shape, 2)});
  const Value means = apply(Kind::k_avg_pool, squares, {{size, 1, 1, 1, before, 0, size - 1 - before, 0, 1, 1, 1}, {}});
  const Value sums = scale(reshape(means, shape), attributes.real("alpha", 1e-4), attributes.real("bias", 1));
  return node.set(x * pow(sums, node.number(DType::kF32, -attributes.real("beta", 0.75))));
}

Result<void> lower_lp_norm(Node& node) {
  const Value x = node.real(0);
  const int64_t p = node.attributes().integer("p", 2);
  if (p != 1 && p != 2) return misfit("its p is neither 1 nor 2");
  PANTOUM_ASSIGN(const size_t axis, node.axis(x.rank(), -1));
  const Value sum = reduce(Kind::k_reduce_sum, p == 1 ? abs(x) : x * x, {static_cast<int64_t>(axis)}, false);
  Shape kept = x.shape();
  kept[axis] = 1;
  return node.set(x / reshape(p == 2 ? sqrt(sum) : sum, kept));
}

// Normalizes over the samples and the dimensions of space unless `axes` names others; 1e-9 is added to the deviation.
Result<void> lower_mean_variance(Node& node) {
  const Value x = node.real(0);
  const Integers told = node.attributes().integers("axes").value_or(Integers{0, 2, 3});
  PANTOUM_ASSIGN(const Integers axes, normalize_axes(told, x.rank()));
  if (axes.empty()) return misfit("it names no axes");
  const Value centered = x - reduce(Kind::k_reduce_mean, x, axes, true);
  const Value variance = reduce(Kind::k_reduce_mean, centered * centered, axes, false);
  Shape kept = x.shape();
  for (const int64_t axis : axes) kept[static_cast<size_t>(axis)] = 1;
  return node.set(centered / reshape(sqrt(variance) + 1e-9, kept));
}

constexpr OperatorEntry kNormOperators[] = {
    {"BatchNormalization", lower_batch_norm, "scale sqrt sub div mul add batch_norm_stats batch_norm",
     "trains with the statistics of the batch; evaluated with the running ones"},
    {"LayerNormalization", lower_layer_norm, "layer_norm", "scale and bias of the normalized shape"},
    {"InstanceNormalization", lower_instance_norm, "layer_norm mul add"},
    {"GroupNormalization", lower_group_norm, "layer_norm mul add"},
    {"LRN", lower_lrn, "mul avg_pool scale pow"},
    {"LpNormalization", lower_lp_norm, "abs mul reduce_sum sqrt div", "a row of zeros gives NaN"},
    {"MeanVarianceNormalization", lower_mean_variance, "reduce_mean sub mul sqrt scale div"}};

}  // namespace

constinit const Family norm_operators = kNormOperators;

}  // namespace pantoum::import
