// Losses that stand in the model itself: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
#include <array>

#include "import/integers.h"

namespace pantoum::import {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

// What the labels choose: their log-probabilities, and the weights of their classes (kNone: all 1).
struct Chosen {
  ValueId loss = ir::kNone, weight = ir::kNone;  // by label
  ValueId ignored = ir::kNone;                   // bool, by label; kNone: none is
};

Result<void> check_labels(Node& node) {
  if (!node.has(0) || !node.has(1)) return fail("E0211", "it has no scores or no labels");
  Shape labels = node.shape(0);
  if (labels.size() < 2) return fail("E0211", "its scores do not have a dimension of classes");
  const int64_t classes = labels[1];
  labels.erase(labels.begin() + 1);
  if (labels != node.shape(1)) return fail("E0211", "its labels do not fit its scores");
  const DType dtype = node.type(1).dtype;
  if (dtype != DType::kI64 && dtype != DType::kI32) return unsupported("its labels are not int64 or int32");
  if (node.has(2) && node.shape(2) != Shape{classes}) return fail("E0211", "its weights are not one a class");
  return {};
}

ValueId zero_of(Node& node, DType dtype) {
  const Tensor zero = make_tensor(dtype, {}, std::vector<int64_t>{0});
  return node.builder().constant(node.label() + ".zero", zero.type, zero.data);
}

// Ignored labels read the first class, whose loss is dropped afterwards.
Result<Chosen> choose(Node& node, ValueId log_probabilities) {
  PANTOUM_ASSIGN(ValueId labels, node.value(1));
  const ir::TensorType type = node.type(1);
  Chosen chosen;
  if (node.attributes().has("ignore_index")) {
    const ValueId ignore = whole_constant(node, type.dtype, {}, {node.attributes().integer("ignore_index", 0)});
    PANTOUM_ASSIGN(chosen.ignored, node.op(Kind::k_compare, {labels, ignore}, {{PT_COMPARE_EQUAL}, {}}));
    PANTOUM_ASSIGN(labels, node.op(Kind::k_where, {chosen.ignored, zero_of(node, type.dtype), labels}));
  }
  Shape apart = type.shape;
  apart.insert(apart.begin() + 1, 1);
  PANTOUM_ASSIGN(const ValueId indices, node.reshape(labels, apart));
  PANTOUM_ASSIGN(ValueId picked, node.op(Kind::k_gather_elements, {log_probabilities, indices}, {{1}, {}}));
  PANTOUM_ASSIGN(picked, node.reshape(picked, type.shape));
  PANTOUM_ASSIGN(chosen.loss, node.op(Kind::k_neg, {picked}));
  if (!node.has(2)) return chosen;
  PANTOUM_ASSIGN(const ValueId weights, node.real(2));
  PANTOUM_ASSIGN(chosen.weight, node.op(Kind::k_gather, {weights, labels}, {{0}, {}}));
  PANTOUM_ASSIGN(chosen.loss, node.op(Kind::k_mul, {chosen.loss, chosen.weight}));
  return chosen;
}

Result<ValueId> without_ignored(Node& node, const Chosen& chosen, ValueId x) {
  if (chosen.ignored == ir::kNone) return x;
  return node.op(Kind::k_where, {chosen.ignored, zero_of(node, DType::kF32), x});
}

Result<ValueId> sum_of_all(Node& node, ValueId x) {
  const int64_t mask = (int64_t{1} << node.shape(1).size()) - 1;
  return node.op(Kind::k_reduce_sum, {x}, {{mask}, {}});
}

// By the sum of the weights of what is not ignored.
Result<ValueId> mean_loss(Node& node, const Chosen& chosen) {
  PANTOUM_ASSIGN(const ValueId sum, sum_of_all(node, chosen.loss));
  ValueId weight = chosen.weight;
  if (weight == ir::kNone) {
    const ValueId one = node.builder().constant_f32(node.label() + ".one", {}, {1.0F});
    PANTOUM_ASSIGN(weight, node.op(Kind::k_expand, {one}, {{}, {1.0}}, {{DType::kF32, node.shape(1)}}));
  }
  PANTOUM_ASSIGN(weight, without_ignored(node, chosen, weight));
  PANTOUM_ASSIGN(const ValueId whole, sum_of_all(node, weight));
  return node.op(Kind::k_div, {sum, whole});
}

Result<void> set_loss(Node& node, ValueId log_probabilities) {
  const std::string reduction = node.attributes().text("reduction", "mean");
  if (reduction != "none" && reduction != "sum" && reduction != "mean")
    return fail("E0211", "its reduction is '" + reduction + "'");
  PANTOUM_ASSIGN(Chosen chosen, choose(node, log_probabilities));
  PANTOUM_ASSIGN(chosen.loss, without_ignored(node, chosen, chosen.loss));
  ValueId y = chosen.loss;
  if (reduction != "none") {
    PANTOUM_ASSIGN(y, reduction == "sum" ? sum_of_all(node, y) : mean_loss(node, chosen));
  }
  node.set(0, y);
  return {};
}

Result<void> lower_nll_loss(Node& node) {
  PANTOUM_TRY(check_labels(node));
  PANTOUM_ASSIGN(const ValueId x, node.real(0));
  return set_loss(node, x);
}

Result<void> lower_softmax_cross_entropy(Node& node) {
  PANTOUM_TRY(check_labels(node));
  PANTOUM_ASSIGN(ValueId x, node.real(0));
  PANTOUM_ASSIGN(x, node.op(Kind::k_log_softmax, {x}, {{1}, {}}));
  PANTOUM_TRY(set_loss(node, x));
  if (node.wants(1)) node.set(1, x);
  return {};
}

constexpr const char* kLossNote = "as a part of the model; --loss adds the one that is trained";
constexpr std::array kLossOperators = {
    OperatorEntry{"NegativeLogLikelihoodLoss", lower_nll_loss,
                  "compare where gather_elements neg gather mul expand reduce_sum div", kLossNote},
    OperatorEntry{"SoftmaxCrossEntropyLoss", lower_softmax_cross_entropy,
                  "log_softmax compare where gather_elements neg gather mul expand reduce_sum div", kLossNote}};

}  // namespace

std::span<const OperatorEntry> loss_operators() {
  return kLossOperators;
}

}  // namespace pantoum::import
