// BatchNormalization with training semantics, and LayerNormalization.
#include <fmt/format.h>

#include <array>

#include "import/merge_statistics.h"
#include "import/operators.h"
#include "import/shapes.h"

namespace pantoum::import {
namespace {

using ir::Kind;
using ir::Shape;
using ir::ValueId;

// A running statistic: from the model's own contents, one buffer for all calls of a module, or a value that the model computes
// or is fed.
Result<ValueId> statistic(Node& node, size_t input) {
  const Operand& operand = *node.operand(input);
  if (!operand.known) return node.real(input);
  ValueId& kept = node.statistic(operand.name);
  if (kept != ir::kNone) return kept;
  Tensor known = *operand.known;
  if (known.type.dtype == ir::DType::kF64) known = make_tensor(ir::DType::kF32, known.type.shape, *to_reals(known));
  if (known.type.dtype != ir::DType::kF32) return unsupported("its statistics are not floating-point numbers");
  kept = node.builder().buffer(operand.name, known.type, known.data);
  return kept;
}

// Of the file, or what an earlier call of the step left of one of the file.
bool keeps_statistic(Node& node, size_t input) {
  const Operand& operand = *node.operand(input);
  const ir::Graph& graph = node.builder().graph();
  return operand.known || (operand.id != ir::kNone && kept_statistic(graph, operand.id, input - 3) != ir::kNone);
}

Result<void> update_statistics(Node& node, const std::vector<ValueId>& normalized) {
  PANTOUM_ASSIGN(const ValueId mean, statistic(node, 3));
  PANTOUM_ASSIGN(const ValueId variance, statistic(node, 4));
  const ir::TensorType x = node.type(0);
  const int64_t per_channel = x.elements() / x.shape[1];
  if (per_channel == 1 && node.batch_chosen()) {
    return fail("E0211", "each of its channels has a single value, which has no variance", {}, "use a larger --batch");
  }
  const double momentum = node.attributes().real("momentum", 0.9);
  if (!(momentum >= 0 && momentum <= 1)) return fail("E0211", "its momentum is not between 0 and 1");
  PANTOUM_ASSIGN(
      const std::vector<ValueId> next,
      node.add(Kind::k_batch_norm_stats, {mean, variance, normalized[1], normalized[2]}, {{per_channel}, {momentum}}));
  ir::Graph& graph = node.builder().graph();
  for (size_t which : {0u, 1u}) {
    const ValueId id = which == 0 ? mean : variance;
    if (graph.value(id).role == ir::Role::kBuffer) graph.value(id).next = next[which];
    node.set(which + 1, next[which]);
  }
  return {};
}

// [C] against [N,C,..]
Result<ValueId> by_channel(Node& node, size_t input) {
  PANTOUM_ASSIGN(const ValueId id, node.real(input));
  const Shape image = node.shape(0);
  if (image.size() < 2 || node.shape(input) != Shape{image[1]})
    return fail("E0211", fmt::format("its input {} does not have one element a channel", input));
  Shape wide(image.size() - 1, 1);
  wide[0] = image[1];
  return node.reshape(id, wide);
}

// In inference form, with statistics that the model computes or is fed: there are none to keep, and gradients pass.
Result<void> lower_computed_statistics(Node& node) {
  PANTOUM_ASSIGN(ValueId y, node.real(0));
  std::vector<ValueId> inputs(5);
  for (size_t input = 1; input < 5; ++input) {
    PANTOUM_ASSIGN(inputs[input], by_channel(node, input));
  }
  PANTOUM_ASSIGN(ValueId deviation, node.scale(inputs[4], 1, node.attributes().real("epsilon", 1e-5)));
  PANTOUM_ASSIGN(deviation, node.op(Kind::k_sqrt, {deviation}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_sub, {y, inputs[3]}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_div, {y, deviation}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_mul, {y, inputs[1]}));
  PANTOUM_ASSIGN(y, node.op(Kind::k_add, {y, inputs[2]}));
  node.set(0, y);
  node.note("normalized by the statistics that the model computes");
  return {};
}

// Statistics that stay as they are, and train nothing.
Result<void> lower_frozen(Node& node, std::vector<ValueId> inputs, double epsilon) {
  for (const size_t input : {3u, 4u}) {
    PANTOUM_ASSIGN(const ValueId id, statistic(node, input));
    inputs.push_back(id);
  }
  PANTOUM_ASSIGN(const ValueId y, node.op(Kind::k_batch_norm_eval, std::move(inputs), {{}, {epsilon}}));
  node.set(0, y);
  node.note("uses its running statistics as they are, among others that train with those of the batch");
  return {};
}

Result<void> lower_batch_norm(Node& node) {
  for (size_t input = 0; input < 5; ++input) {
    if (!node.has(input)) return fail("E0211", fmt::format("its input {} is missing", input));
  }
  if (node.wants(3) || node.wants(4)) return unsupported("its saved statistics are used");
  const bool training = is_training_norm(node.message());
  if (!training && !node.operand(3)->known && !node.operand(4)->known) return lower_computed_statistics(node);
  std::vector<ValueId> inputs(3);
  for (size_t input = 0; input < 3; ++input) {
    PANTOUM_ASSIGN(inputs[input], node.real(input));
  }
  const double epsilon = node.attributes().real("epsilon", 1e-5);
  if (!training && node.some_norm_trains()) return lower_frozen(node, std::move(inputs), epsilon);
  PANTOUM_ASSIGN(const std::vector<ValueId> normalized, node.add(Kind::k_batch_norm, inputs, {{}, {epsilon}}));
  node.set(0, normalized[0]);
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
Result<ValueId> row_vector(Node& node, size_t input, const Shape& shape, float otherwise) {
  if (node.has(input)) {
    PANTOUM_ASSIGN(const ValueId id, node.real(input));
    if (node.type(input).elements() != *count_elements(shape)) {
      return unsupported("its scale or bias is broadcast", "give it the normalized dimensions");
    }
    return node.reshape(id, shape);
  }
  PANTOUM_ASSIGN(const ValueId made, node.filled(*count_elements(shape), otherwise));
  return node.reshape(made, shape);
}

Result<void> lower_layer_norm(Node& node) {
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  const Shape shape = node.shape(0);
  PANTOUM_ASSIGN(const int64_t axis, normalize_axis(node.attributes().integer("axis", -1), shape.size()));
  const Shape row(shape.begin() + axis, shape.end());
  if (!node.has(1)) return fail("E0211", "its scale is missing");
  PANTOUM_ASSIGN(const ValueId scale, row_vector(node, 1, row, 1.0F));
  // A missing bias costs memory: it must not be more than the model itself pays for the scale.
  PANTOUM_ASSIGN(const ValueId bias, row_vector(node, 2, row, 0.0F));
  const double epsilon = node.attributes().real("epsilon", 1e-5);
  PANTOUM_ASSIGN(const std::vector<ValueId> normalized,
                 node.add(Kind::k_layer_norm, {x, scale, bias}, {{axis}, {epsilon}}));
  node.set(0, normalized[0]);
  Shape statistic = shape;
  for (auto extent = statistic.begin() + axis; extent != statistic.end(); ++extent) *extent = 1;
  for (size_t which : {1u, 2u}) {
    if (!node.wants(which)) continue;
    PANTOUM_ASSIGN(const ValueId id, node.reshape(normalized[which], statistic));
    node.set(which, id);
  }
  return {};
}

constexpr std::array kNormOperators = {
    OperatorEntry{"BatchNormalization", lower_batch_norm, "scale sqrt sub div mul add batch_norm_stats batch_norm",
                  "trains with the statistics of the batch; evaluated with the running ones"},
    OperatorEntry{"LayerNormalization", lower_layer_norm, "layer_norm", "scale and bias of the normalized shape"}};

}  // namespace

std::span<const OperatorEntry> norm_operators() {
  return kNormOperators;
}

}  // namespace pantoum::import
