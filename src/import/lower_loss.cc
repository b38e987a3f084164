// Losses that stand in the model itself: NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss.
#include "import/operators.h"

namespace pantoum::import {

// Ignored labels read the first class, whose loss is dropped afterwards.
Value negative_likelihood(const Value& log_probabilities, const Value& labels, const Value& weights,
                          std::optional<int64_t> ignored, Reduction reduction) {
  Composer& in = log_probabilities.in();
  Shape expected = log_probabilities.shape();
  if (expected.size() < 2) return in.refuse(misfit("its scores do not have a dimension of classes"));
  const int64_t classes = expected[1];
  expected.erase(expected.begin() + 1);
  if (!labels || !log_probabilities) return in.refuse(misfit("an operand is missing"));
  const TensorType type = labels.type();
  if (type.shape != expected) return in.refuse(misfit("its labels do not fit its scores"));
  if (type.dtype != DType::kI64 && type.dtype != DType::kI32)
    return in.refuse(unsupported("its labels are not int64 or int32"));
  if (weights && weights.shape() != Shape{classes}) return in.refuse(misfit("its weights are not one a class"));
  Value read = labels, is_ignored;
  if (ignored) {
    is_ignored = compare(labels, PT_COMPARE_EQUAL, in.whole(type.dtype, {}, {*ignored}));
    read = where(is_ignored, in.number(type.dtype, 0), labels);
  }
  Shape apart = type.shape;
  apart.insert(apart.begin() + 1, 1);
  Value loss = -reshape(gather_elements(log_probabilities, reshape(read, apart), 1), type.shape), weight;
  if (weights) {
    weight = gather(weights, read, 0);
    loss = loss * weight;
  }
  const auto counted = [&](const Value& x) { return ignored ? where(is_ignored, in.number(DType::kF32, 0), x) : x; };
  loss = counted(loss);
  if (reduction == Reduction::kNone) return loss;
  const Value sum = sum_of_all(loss);
  if (reduction == Reduction::kSum) return sum;
  if (!weight)
    weight = in.op(ir::Kind::k_expand, {in.number(DType::kF32, 1)}, {{}, {1.0}}, {{DType::kF32, type.shape}});
  return sum / sum_of_all(counted(weight));
}

namespace {

Value likelihood(Node& node, const Value& log_probabilities) {
  const std::string name = node.attributes().text("reduction", "mean");
  if (name != "none" && name != "sum" && name != "mean")
    return node.refuse(fail("E0211", "its reduction is '" + name + "'"));
  std::optional<int64_t> ignored;
  if (node.attributes().has("ignore_index")) ignored = node.attributes().integer("ignore_index", 0);
  const Value labels = node.value(1);
  return negative_likelihood(log_probabilities, labels, node.optional(2), ignored,
                             name == "none"  ? Reduction::kNone
                             : name == "sum" ? Reduction::kSum
                                             : Reduction::kMean);
}

Result<void> lower_nll_loss(Node& node) {
  return node.set(likelihood(node, node.real(0)));
}

Result<void> lower_softmax_cross_entropy(Node& node) {
  if (node.shape(0).size() < 2) return misfit("its scores do not have a dimension of classes");
  const Value log_probabilities = log_softmax(node.real(0), 1);
  PANTOUM_TRY(node.set(likelihood(node, log_probabilities)));
  return node.wants(1) ? node.set(1, log_probabilities) : node.refusal();
}

constexpr const char* kLossNote = "as a part of the model; --loss adds the one that is trained";
constexpr OperatorEntry kLossOperators[] = {
    {"NegativeLogLikelihoodLoss", lower_nll_loss, "compare where gather_elements neg gather mul expand reduce_sum div",
     kLossNote},
    {"SoftmaxCrossEntropyLoss", lower_softmax_cross_entropy,
     "log_softmax compare where gather_elements neg gather mul expand reduce_sum div", kLossNote}};

}  // namespace

constinit const Family loss_operators = kLossOperators;

}  // namespace pantoum::import
