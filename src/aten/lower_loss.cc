// Losses. Those over a batch's mean are one op, with a gradient of its own; the others are made of arithmetic.
#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using import::Reduction;

Reduction reduction_of(Node& node, Slot slot) {
  constexpr std::array kReductions = {Reduction::kNone, Reduction::kMean, Reduction::kSum};
  const int64_t told = node.integer(slot, 1);
  if (told >= 0 && told <= 2) return kReductions[static_cast<size_t>(told)];
  node.refuse(misfit("its reduction is unknown"));
  return Reduction::kMean;
}

Value reduced(const Value& each, Reduction reduction) {
  if (reduction == Reduction::kNone) return each;
  return reduce(reduction == Reduction::kMean ? Kind::k_reduce_mean : Kind::k_reduce_sum, each, {}, false);
}

Result<void> lower_nll(Node& node) {
  Value x = node.real(kSelf), labels = node.tensor({1, "target"});
  const Reduction reduction = reduction_of(node, {3, "reduction"});
  if (x.rank() == 1) {  // one sample without a batch
    x = reshape(x, {1, x.shape()[0]});
    labels = reshape(labels, {1});
  }
  const Value weights = node.optional({2, "weight"});
  PANTOUM_TRY(
      node.set_reshaped(negative_likelihood(x, labels, weights, node.integer({4, "ignore_index"}, -100), reduction)));
  if (node.wants(1)) return unsupported("the sum of its weights is read", "compute it beside the loss");
  return {};
}

// The two tensors that a loss compares, expanded to one shape.
struct Compared {
  Value x, target;
  Reduction reduction;
};

Compared read_compared(Node& node, Slot reduction = {2, "reduction"}) {
  const Value x = node.real(kSelf), target = node.as({1, "target"}, DType::kF32);
  const Shape shape = target.elements() > x.elements() ? target.shape() : x.shape();
  const Value whole = expand(x, shape);
  return {whole, expand(target, shape), reduction_of(node, reduction)};
}

bool is_trained_through(Node& node, const Value& target) {
  return target && node.builder().graph().value(target).role != ir::Role::kInput;
}

template <Kind kMeanOfAll, Value (*kEach)(const Value&)>
Result<void> lower_difference(Node& node) {
  const Compared pair = read_compared(node);
  if (pair.reduction == Reduction::kMean) return node.set(node.op(kMeanOfAll, {pair.x, pair.target}));
  return node.set(reduced(kEach(pair.x - pair.target), pair.reduction));
}

// Where |d| < beta: d^2 / 2 * inner; else (|d| - beta / 2) * outer.
Value bent(const Compared& pair, double beta, double inner, double outer) {
  const Value d = pair.x - pair.target, size = abs(d), square = scale(d * d, 0.5 * inner);
  const Value line = scale(size, outer, -0.5 * beta * outer);
  return reduced(where(compare(size, PT_COMPARE_LESS, beta), square, line), pair.reduction);
}

Result<void> lower_smooth_l1(Node& node) {
  const Compared pair = read_compared(node);
  const double beta = node.number({3, "beta"}, 1);
  if (pair.reduction == Reduction::kMean)
    return node.set(node.op(Kind::k_smooth_l1, {pair.x, pair.target}, {{}, {beta}}));
  return node.set(bent(pair, beta, beta > 0 ? 1 / beta : 0, 1));
}

Result<void> lower_huber(Node& node) {
  const Compared pair = read_compared(node);
  const double delta = node.number({3, "delta"}, 1);
  return node.set(bent(pair, delta, 1, delta));
}

// weight * ((1 - t) x + (1 + (pos - 1) t) softplus(-x))
Result<void> lower_bce_with_logits(Node& node) {
  const Compared pair = read_compared(node, {4, "reduction"});
  const bool plain = !node.has({2, "weight"}) && !node.has({3, "pos_weight"}) && !is_trained_through(node, pair.target);
  if (plain && pair.reduction == Reduction::kMean)
    return node.set(node.op(Kind::k_bce_with_logits, {pair.x, pair.target}));
  Value negative = softplus(-pair.x);
  if (const Value positive = node.optional({3, "pos_weight"}))
    negative = ((positive + -1.0) * pair.target + 1.0) * negative;
  const Value rest = scale(pair.target, -1, 1) * pair.x, each = rest + negative;
  const Value weight = node.optional({2, "weight"});
  return node.set(reduced(weight ? each * weight : each, pair.reduction));
}

// t (log t - x), 0 where t is 0; of targets that are logs, e^t (t - x).
Result<void> lower_kl_div(Node& node) {
  const Compared pair = read_compared(node);
  const bool is_log = node.boolean({3, "log_target"}, false);
  if (!is_log && pair.reduction == Reduction::kMean && !is_trained_through(node, pair.target))
    return node.set(node.op(Kind::k_kl_div, {pair.x, pair.target}, {{}, {0}}));
  Value log_target = pair.target, probability = pair.target;
  if (is_log) {
    probability = exp(pair.target);
  } else {
    const Value some = compare(pair.target, PT_COMPARE_GREATER, 0);
    log_target = log(where(some, pair.target, node.number(DType::kF32, 1)));
  }
  return node.set(reduced(probability * (log_target - pair.x), pair.reduction));
}

// The operands of cross_entropy, with the classes in dimension 1.
struct Scores {
  Value x, target, weight;
  Reduction reduction;
  int64_t ignored, classes;
  double smoothing;
};

Result<Scores> read_scores(Node& node) {
  Value x = node.real(kSelf), target = node.tensor({1, "target"});
  const Reduction reduction = reduction_of(node, {3, "reduction"});
  const int64_t ignored = node.integer({4, "ignore_index"}, -100);
  const double smoothing = node.number({5, "label_smoothing"}, 0);
  const Value weight = node.optional({2, "weight"});
  if (x.rank() == 0) return misfit("it has no classes");
  if (x.rank() == 1) {
    Shape shape = target.shape();
    shape.insert(shape.begin(), 1);
    x = reshape(x, {1, x.shape()[0]});
    target = reshape(target, shape);
  }
  PANTOUM_TRY(node.refusal());
  return Scores{x, target, weight, reduction, ignored, x.shape()[1], smoothing};
}

// -sum over the classes of w t log p; the mean is over the samples.
Result<void> entropy_of_probabilities(Node& node, const Scores& scores) {
  const bool plain = !scores.weight && !is_trained_through(node, scores.target);
  if (plain && scores.reduction == Reduction::kMean)
    return node.set(node.op(Kind::k_soft_cross_entropy, {scores.x, scores.target}, {{}, {scores.smoothing}}));
  const Value log = log_softmax(scores.x, 1);
  const double even = scores.smoothing / static_cast<double>(scores.classes);
  Value each = log * (scores.smoothing > 0 ? scale(scores.target, 1 - scores.smoothing, even) : scores.target);
  if (scores.weight) each = each * by_channel(scores.weight, each.rank());
  each = -reduce(Kind::k_reduce_sum, each, {1}, false);
  return scores.reduction == Reduction::kNone ? node.set_reshaped(each) : node.set(reduced(each, scores.reduction));
}

// The part of label smoothing: the mean over classes of -w log p, where the label counts, over what the labels weigh.
Value smooth_part(Node& node, const Scores& scores, const Value& log) {
  Value each = scores.weight ? log * by_channel(scores.weight, log.rank()) : log;
  each = scale(reduce(Kind::k_reduce_sum, each, {1}, false), -1 / static_cast<double>(scores.classes));
  const Value ignored =
      compare(scores.target, PT_COMPARE_EQUAL, node.whole(scores.target.dtype(), {}, {scores.ignored}));
  each = where(ignored, node.number(DType::kF32, 0), each);
  if (scores.reduction == Reduction::kNone) return each;
  const Value sum = sum_of_all(each);
  if (scores.reduction == Reduction::kSum) return sum;
  // The sum of the labels' weights: a likelihood of -1 everywhere.
  const Value ones = expand(node.number(DType::kF32, -1), log.shape());
  return sum / negative_likelihood(ones, scores.target, scores.weight, scores.ignored, Reduction::kSum);
}

Result<void> lower_cross_entropy(Node& node) {
  PANTOUM_ASSIGN(const Scores scores, read_scores(node));
  if (scores.target.is_real()) return entropy_of_probabilities(node, scores);
  // Labels below 0 do not count there: PyTorch has no others but the one that is ignored.
  if (!scores.weight && scores.reduction == Reduction::kMean && scores.target.dtype() == DType::kI64 &&
      scores.classes > 1)
    return node.set(node.op(Kind::k_cross_entropy, {scores.x, scores.target}, {{scores.ignored}, {scores.smoothing}}));
  const Value log = log_softmax(scores.x, 1);
  const Value y = negative_likelihood(log, scores.target, scores.weight, scores.ignored, scores.reduction);
  if (!(scores.smoothing > 0)) return node.set_reshaped(y);
  const Value part = scale(smooth_part(node, scores, log), scores.smoothing);
  return node.set_reshaped(scale(y, 1 - scores.smoothing) + part);
}

constexpr OperatorEntry kLosses[] = {{"nll_loss_nd.default", lower_nll},
                                     {"cross_entropy_loss.default", lower_cross_entropy},
                                     {"mse_loss.default", lower_difference<Kind::k_mse, import::square>},
                                     {"l1_loss.default", lower_difference<Kind::k_l1, import::abs>},
                                     {"smooth_l1_loss.default", lower_smooth_l1},
                                     {"huber_loss.default", lower_huber},
                                     {"binary_cross_entropy_with_logits.default", lower_bce_with_logits},
                                     {"kl_div.default", lower_kl_div}};

}  // namespace

constinit const Family loss_operators = kLosses;

}  // namespace pantoum::aten
