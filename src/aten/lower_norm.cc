// Normalizations in the form that the module has: training or not is an argument.
#include <algorithm>

#include "aten/operators.h"

namespace pantoum::aten {
namespace {

// A scale or bias of `shape`; not given: all elements `otherwise`.
Value vector_or(Node& node, Slot slot, const Shape& shape, double otherwise) {
  if (node.has(slot)) return reshape(node.real(slot), shape);
  const int64_t count = TensorType{DType::kF32, shape}.elements();
  return node.constant(DType::kF32, shape, std::vector<double>(static_cast<size_t>(count), otherwise));
}

struct BatchNorm {
  Value x, scale, bias;
};

Result<BatchNorm> read_batch_norm(Node& node) {
  const Value x = node.real(kSelf);
  if (x.rank() < 2) return misfit("it has no channels");
  const Shape channels = {x.shape()[1]};
  const Value scale = vector_or(node, {1, "weight"}, channels, 1);
  return BatchNorm{x, scale, vector_or(node, {2, "bias"}, channels, 0)};
}

// Normalizes by the statistics of the batch, and updates the running statistics if the call has some.
Result<void> normalize_batch(Node& node, const BatchNorm& norm, double momentum, double epsilon, bool keeps) {
  const Values made = node.ops(Kind::k_batch_norm, {norm.x, norm.scale, norm.bias}, {{}, {epsilon}});
  PANTOUM_TRY(node.set_both(made[0], made[1]));
  if (node.wants(2)) {
    const Value deviation = sqrt(made[2] + epsilon);
    PANTOUM_TRY(node.set(2, node.number(DType::kF32, 1) / deviation));
  }
  if (!keeps) return {};
  const Value mean = node.real({3, "running_mean"}), variance = node.real({4, "running_var"});
  const Values next = node.ops(Kind::k_batch_norm_stats, {mean, variance, made[1], made[2]},
                               {{norm.x.elements() / norm.x.shape()[1]}, {1 - momentum}});
  PANTOUM_TRY(node.set(3, next[0]));
  return node.set(4, next[1]);
}

// Statistics that are computed or fed: gradients pass.
Result<void> normalize_by_given(Node& node, const BatchNorm& norm, double epsilon) {
  const Value mean = node.real({3, "running_mean"}), variance = node.real({4, "running_var"});
  PANTOUM_TRY(node.refusal());
  const auto is_computed = [&](ValueId id) { return node.builder().graph().value(id).role == ir::Role::kActivation; };
  if (is_computed(mean) || is_computed(variance))
    return node.set(normalized_by(norm.x, norm.scale, norm.bias, mean, variance, epsilon));
  return node.set(node.op(Kind::k_batch_norm_eval, {norm.x, norm.scale, norm.bias, mean, variance}, {{}, {epsilon}}));
}

Result<void> lower_batch_norm(Node& node) {
  PANTOUM_ASSIGN(const BatchNorm norm, read_batch_norm(node));
  const double momentum = node.number({6, "momentum"}, 0.1), epsilon = node.number({7, "eps"}, 1e-5);
  if (!node.boolean({5, "training"}, true)) return normalize_by_given(node, norm, epsilon);
  return normalize_batch(node, norm, momentum, epsilon,
                         node.has({3, "running_mean"}) && (node.wants(3) || node.wants(4)));
}

Result<void> lower_batch_norm_no_training(Node& node) {
  PANTOUM_ASSIGN(const BatchNorm norm, read_batch_norm(node));
  return normalize_by_given(node, norm, node.number({6, "eps"}, 1e-5));
}

Result<void> lower_batch_norm_no_stats(Node& node) {
  PANTOUM_ASSIGN(const BatchNorm norm, read_batch_norm(node));
  if (!node.boolean({3, "training"}, true)) return misfit("it has no statistics to normalize by");
  return normalize_batch(node, norm, 0, node.number({5, "eps"}, 1e-5), false);
}

// The result, then the mean and the inverse deviation of each row in their captured shapes.
Result<void> set_normalized(Node& node, const Value& y, const Values& statistics) {
  for (const size_t which : {size_t{1}, size_t{2}})
    if (node.wants(which)) PANTOUM_TRY(node.set(which, reshape(statistics[which], node.output(which).shape)));
  return node.set(y);
}

Result<void> lower_layer_norm(Node& node) {
  const Value x = node.real(kSelf);
  const Integers row = node.integers({1, "normalized_shape"});
  const Shape shape = x.shape();
  if (row.empty() || row.size() > shape.size() || !std::equal(row.rbegin(), row.rend(), shape.rbegin()))
    return misfit("its normalized shape does not fit");
  const Value scale = vector_or(node, {2, "weight"}, row, 1), bias = vector_or(node, {3, "bias"}, row, 0);
  const Values made = node.ops(Kind::k_layer_norm, {x, scale, bias},
                               {{static_cast<int64_t>(shape.size() - row.size())}, {node.number({4, "eps"}, 1e-5)}});
  return set_normalized(node, made[0], made);
}

// Groups of channels as rows, then scale and bias of each channel.
Result<void> lower_group_norm(Node& node) {
  const Value x = node.real(kSelf);
  const Shape shape = x.shape();
  const int64_t groups = node.integer({6, "group"});
  const Slot scale_at = {1, "weight"}, bias_at = {2, "bias"};
  const double epsilon = node.number({7, "eps"}, 1e-5);
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0) return misfit("its groups do not fit the channels");
  const int64_t width = x.elements() / (shape[0] * groups);
  const auto vector = [&](double value) {
    return node.constant(DType::kF32, {width}, std::vector<double>(static_cast<size_t>(width), value));
  };
  const Value ones = vector(1), zeros = vector(0);
  const Values made = normalized_rows(x, width, epsilon, ones, zeros);
  Value y = made[0];
  if (node.has(scale_at) || node.has(bias_at)) {
    Shape channels(shape.size() - 1, 1);
    channels[0] = shape[1];
    const Value scale = vector_or(node, scale_at, channels, 1), bias = vector_or(node, bias_at, channels, 0);
    y = y * scale + bias;
  }
  return set_normalized(node, y, made);
}

constexpr OperatorEntry kNorms[] = {
    {"_native_batch_norm_legit_functional.default native_batch_norm.default", lower_batch_norm},
    {"_native_batch_norm_legit_no_training.default", lower_batch_norm_no_training},
    {"_native_batch_norm_legit.no_stats", lower_batch_norm_no_stats},
    {"native_layer_norm.default", lower_layer_norm},
    {"native_group_norm.default", lower_group_norm}};

}  // namespace

constinit const Family norm_operators = kNorms;

}  // namespace pantoum::aten
