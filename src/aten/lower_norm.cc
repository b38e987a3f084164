// Normalizations in the form that the module has: training or not is an argument.
#include <algorithm>
#include <array>

#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

// A scale or bias of `shape`; not given: all elements `otherwise`.
Result<ValueId> vector_or(Node& node, Slot slot, const Shape& shape, double otherwise) {
  if (node.has(slot)) {
    PANTOUM_ASSIGN(const ValueId id, node.real(slot));
    return node.reshape(id, shape);
  }
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return node.constant(DType::kF32, shape, std::vector<double>(static_cast<size_t>(count), otherwise));
}

struct BatchNorm {
  ValueId x = ir::kNone, scale = ir::kNone, bias = ir::kNone;
  int64_t per_channel = 1;
};

Result<BatchNorm> read_batch_norm(Node& node) {
  BatchNorm norm;
  PANTOUM_ASSIGN(norm.x, node.real(kSelf));
  const Shape shape = node.shape_of(norm.x);
  if (shape.size() < 2) return fail("E0211", "it has no channels");
  PANTOUM_ASSIGN(norm.scale, vector_or(node, {1, "weight"}, {shape[1]}, 1));
  PANTOUM_ASSIGN(norm.bias, vector_or(node, {2, "bias"}, {shape[1]}, 0));
  norm.per_channel = node.type_of(norm.x).elements() / shape[1];
  return norm;
}

Result<void> set_invstd(Node& node, size_t output, ValueId variance, double epsilon) {
  if (!node.wants(output)) return {};
  PANTOUM_ASSIGN(ValueId y, node.scale(variance, 1, epsilon));
  PANTOUM_ASSIGN(y, node.op(Kind::k_sqrt, {y}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_div, {node.constant(DType::kF32, {}, {1}), y}));
  return node.set(output, y);
}

// By the statistics of the batch, which move the running ones where there are any.
Result<void> normalize_batch(Node& node, const BatchNorm& norm, double momentum, double epsilon, bool keeps) {
  PANTOUM_ASSIGN(const std::vector<ValueId> made,
                 node.add(Kind::k_batch_norm, {norm.x, norm.scale, norm.bias}, {{}, {epsilon}}));
  PANTOUM_TRY(node.set(0, made[0]));
  PANTOUM_TRY(node.set(1, made[1]));
  PANTOUM_TRY(set_invstd(node, 2, made[2], epsilon));
  if (!keeps) return {};
  PANTOUM_ASSIGN(const ValueId mean, node.real({3, "running_mean"}));
  PANTOUM_ASSIGN(const ValueId variance, node.real({4, "running_var"}));
  PANTOUM_ASSIGN(const std::vector<ValueId> next, node.add(Kind::k_batch_norm_stats, {mean, variance, made[1], made[2]},
                                                           {{norm.per_channel}, {1 - momentum}}));
  PANTOUM_TRY(node.set(3, next[0]));
  return node.set(4, next[1]);
}

// Statistics that are computed or fed: gradients pass.
Result<ValueId> by_channel(Node& node, Slot slot, size_t rank) {
  PANTOUM_ASSIGN(const ValueId id, node.real(slot));
  Shape wide(rank - 1, 1);
  wide[0] = node.type_of(id).elements();
  return node.reshape(id, wide);
}

Result<void> normalize_by_given(Node& node, const BatchNorm& norm, double epsilon) {
  PANTOUM_ASSIGN(const ValueId mean, node.real({3, "running_mean"}));
  PANTOUM_ASSIGN(const ValueId variance, node.real({4, "running_var"}));
  const auto role = [&](ValueId id) { return node.builder().graph().value(id).role; };
  const bool fixed = role(mean) != ir::Role::kActivation && role(variance) != ir::Role::kActivation;
  if (fixed)
    return node.set(node.op(Kind::k_batch_norm_eval, {norm.x, norm.scale, norm.bias, mean, variance}, {{}, {epsilon}}));
  const size_t rank = node.shape_of(norm.x).size();
  Shape wide(rank - 1, 1);
  wide[0] = node.shape_of(norm.x)[1];
  PANTOUM_ASSIGN(const ValueId center, by_channel(node, {3, "running_mean"}, rank));
  PANTOUM_ASSIGN(ValueId deviation, by_channel(node, {4, "running_var"}, rank));
  PANTOUM_ASSIGN(deviation, node.scale(deviation, 1, epsilon));
  PANTOUM_ASSIGN(deviation, node.op(Kind::k_sqrt, {deviation}));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_sub, {norm.x, center}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_div, {y, deviation}));
  PANTOUM_ASSIGN(const ValueId scale, node.reshape(norm.scale, wide));
  PANTOUM_ASSIGN(const ValueId bias, node.reshape(norm.bias, wide));
  PANTOUM_ASSIGN(y, node.op(Kind::k_mul, {y, scale}));
  return node.set(node.op(Kind::k_add, {y, bias}));
}

Result<void> lower_batch_norm(Node& node) {
  PANTOUM_ASSIGN(const BatchNorm norm, read_batch_norm(node));
  PANTOUM_ASSIGN(const bool training, node.boolean({5, "training"}, true));
  PANTOUM_ASSIGN(const double momentum, node.number({6, "momentum"}, 0.1));
  PANTOUM_ASSIGN(const double epsilon, node.number({7, "eps"}, 1e-5));
  if (!training) return normalize_by_given(node, norm, epsilon);
  return normalize_batch(node, norm, momentum, epsilon,
                         node.has({3, "running_mean"}) && (node.wants(3) || node.wants(4)));
}

Result<void> lower_batch_norm_no_training(Node& node) {
  PANTOUM_ASSIGN(const BatchNorm norm, read_batch_norm(node));
  PANTOUM_ASSIGN(const double epsilon, node.number({6, "eps"}, 1e-5));
  return normalize_by_given(node, norm, epsilon);
}

Result<void> lower_batch_norm_no_stats(Node& node) {
  PANTOUM_ASSIGN(const BatchNorm norm, read_batch_norm(node));
  PANTOUM_ASSIGN(const bool training, node.boolean({3, "training"}, true));
  PANTOUM_ASSIGN(const double epsilon, node.number({5, "eps"}, 1e-5));
  if (!training) return fail("E0211", "it has no statistics to normalize by");
  return normalize_batch(node, norm, 0, epsilon, false);
}

Result<void> lower_layer_norm(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const std::vector<int64_t> row, node.integers({1, "normalized_shape"}));
  const Shape shape = node.shape_of(x);
  if (row.empty() || row.size() > shape.size() || !std::equal(row.rbegin(), row.rend(), shape.rbegin()))
    return fail("E0211", "its normalized shape does not fit");
  PANTOUM_ASSIGN(const ValueId scale, vector_or(node, {2, "weight"}, row, 1));
  PANTOUM_ASSIGN(const ValueId bias, vector_or(node, {3, "bias"}, row, 0));
  PANTOUM_ASSIGN(const double epsilon, node.number({4, "eps"}, 1e-5));
  const auto axis = static_cast<int64_t>(shape.size() - row.size());
  PANTOUM_ASSIGN(const std::vector<ValueId> made, node.add(Kind::k_layer_norm, {x, scale, bias}, {{axis}, {epsilon}}));
  PANTOUM_TRY(node.set(0, made[0]));
  for (const size_t which : {size_t{1}, size_t{2}}) {
    if (!node.wants(which)) continue;
    PANTOUM_ASSIGN(const ValueId id, node.reshape(made[which], node.output(which).shape));
    PANTOUM_TRY(node.set(which, id));
  }
  return {};
}

// Groups of channels as rows, then scale and bias of each channel.
Result<void> lower_group_norm(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  const Shape shape = node.shape_of(x);
  const bool native = node.call().op == "aten.native_group_norm.default";
  PANTOUM_ASSIGN(const int64_t groups, node.integer(native ? Slot{6, "group"} : Slot{1, "num_groups"}));
  const Slot scale_at = native ? Slot{1, "weight"} : Slot{2, "weight"},
             bias_at = native ? Slot{2, "bias"} : Slot{3, "bias"};
  PANTOUM_ASSIGN(const double epsilon, node.number(native ? Slot{7, "eps"} : Slot{4, "eps"}, 1e-5));
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0)
    return fail("E0211", "its groups do not fit the channels");
  const int64_t rows = shape[0] * groups, row = node.type_of(x).elements() / rows;
  const bool alone = !node.has(scale_at) && !node.has(bias_at);
  PANTOUM_ASSIGN(ValueId y, node.reshape(x, {rows, row}));
  const auto vector = [&](double value) {
    return node.constant(DType::kF32, {row}, std::vector<double>(static_cast<size_t>(row), value));
  };
  PANTOUM_ASSIGN(const std::vector<ValueId> made,
                 node.add(Kind::k_layer_norm, {y, vector(1), vector(0)}, {{1}, {epsilon}}));
  PANTOUM_ASSIGN(y, node.reshape(made[0], shape));
  Shape wide(shape.size() - 1, 1);
  wide[0] = shape[1];
  if (!alone) {
    PANTOUM_ASSIGN(const ValueId scale, vector_or(node, scale_at, wide, 1));
    PANTOUM_ASSIGN(const ValueId bias, vector_or(node, bias_at, wide, 0));
    PANTOUM_ASSIGN(y, node.op(Kind::k_mul, {y, scale}));
    PANTOUM_ASSIGN(y, node.op(Kind::k_add, {y, bias}));
  }
  PANTOUM_TRY(node.set(0, y));
  for (const size_t which : {size_t{1}, size_t{2}}) {
    if (!native || !node.wants(which)) continue;
    PANTOUM_ASSIGN(const ValueId id, node.reshape(made[which], node.output(which).shape));
    PANTOUM_TRY(node.set(which, id));
  }
  return {};
}

// x / sqrt(mean of squares + eps), scaled.
Result<void> lower_rms_norm(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(const std::vector<int64_t> row, node.integers({1, "normalized_shape"}));
  PANTOUM_ASSIGN(const double epsilon, node.number({3, "eps"}, 1.1920928955078125e-07));
  const size_t rank = node.shape_of(x).size();
  if (row.empty() || row.size() > rank) return fail("E0211", "its normalized shape does not fit");
  std::vector<int64_t> all;
  for (size_t d = rank - row.size(); d < rank; ++d) all.push_back(static_cast<int64_t>(d));
  PANTOUM_ASSIGN(ValueId y, node.op(Kind::k_mul, {x, x}));
  PANTOUM_ASSIGN(y, node.reduce(Kind::k_reduce_mean, y, all, true));
  PANTOUM_ASSIGN(y, node.scale(y, 1, epsilon));
  PANTOUM_ASSIGN(y, node.op(Kind::k_sqrt, {y}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_div, {x, y}));
  if (!node.has({2, "weight"})) return node.set(0, y);
  PANTOUM_ASSIGN(const ValueId weight, node.real({2, "weight"}));
  return node.set(node.op(Kind::k_mul, {y, weight}));
}

constexpr std::array kNorms = {
    OperatorEntry{"_native_batch_norm_legit_functional.default", lower_batch_norm},
    OperatorEntry{"native_batch_norm.default", lower_batch_norm},
    OperatorEntry{"_native_batch_norm_legit_no_training.default", lower_batch_norm_no_training},
    OperatorEntry{"_native_batch_norm_legit.no_stats", lower_batch_norm_no_stats},
    OperatorEntry{"native_layer_norm.default", lower_layer_norm},
    OperatorEntry{"layer_norm.default", lower_layer_norm},
    OperatorEntry{"native_group_norm.default", lower_group_norm},
    OperatorEntry{"group_norm.default", lower_group_norm},
    OperatorEntry{"rms_norm.default", lower_rms_norm}};

}  // namespace

std::span<const OperatorEntry> norm_operators() {
  return kNorms;
}

}  // namespace pantoum::aten
