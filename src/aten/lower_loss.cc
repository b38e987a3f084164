// Losses. Those over a batch's mean are one op, with a gradient of its own; the others are made of arithmetic.
#include <array>

#include "aten/arithmetic.h"
#include "aten/operators.h"

namespace pantoum::aten {
namespace {

using ir::DType;
using ir::Kind;
using ir::Shape;
using ir::ValueId;

// The weight of each label's class; labels that are ignored weigh nothing.
Result<void> set_total_weight(Node& node) {
  if (!node.wants(1)) return {};
  return unsupported("the sum of its weights is read", "compute it beside the loss");
}

Result<void> lower_nll(Node& node) {
  constexpr std::array kReductions = {"none", "mean", "sum"};
  PANTOUM_ASSIGN(ValueId x, node.real(kSelf));
  PANTOUM_ASSIGN(ValueId labels, node.tensor({1, "target"}));
  PANTOUM_ASSIGN(const int64_t reduction, node.integer({3, "reduction"}, 1));
  PANTOUM_ASSIGN(const int64_t ignored, node.integer({4, "ignore_index"}, -100));
  if (reduction < 0 || reduction > 2) return fail("E0211", "its reduction is unknown");
  if (node.shape_of(x).size() == 1) {  // one sample without a batch
    PANTOUM_ASSIGN(x, node.reshape(x, {1, node.shape_of(x)[0]}));
    PANTOUM_ASSIGN(labels, node.reshape(labels, {1}));
  }
  std::vector<ValueId> inputs = {x, labels};
  if (node.has({2, "weight"})) {
    PANTOUM_ASSIGN(inputs.emplace_back(), node.real({2, "weight"}));
  }
  PANTOUM_ASSIGN(const std::vector<ValueId> y,
                 node.onnx("NegativeLogLikelihoodLoss", inputs,
                           {{"reduction", std::string(kReductions.at(static_cast<size_t>(reduction)))},
                            {"ignore_index", ignored}}));
  PANTOUM_TRY(node.set(node.reshape(y[0], node.output().shape)));
  return set_total_weight(node);
}

enum Reduction : int64_t { kNone, kMean, kSum };

Result<int64_t> reduction_of(Node& node, Slot slot) {
  PANTOUM_ASSIGN(const int64_t reduction, node.integer(slot, kMean));
  if (reduction < kNone || reduction > kSum) return fail("E0211", "its reduction is unknown");
  return reduction;
}

Result<void> reduce_loss(Node& node, ValueId each, int64_t reduction) {
  if (reduction == kNone) return node.set(0, each);
  return node.set(node.reduce(reduction == kMean ? Kind::k_reduce_mean : Kind::k_reduce_sum, each, {}, false));
}

struct Pair {
  ValueId x = ir::kNone, target = ir::kNone;
};

// Both of one shape.
Result<Pair> read_pair(Node& node) {
  Pair pair;
  PANTOUM_ASSIGN(pair.x, node.real(kSelf));
  PANTOUM_ASSIGN(pair.target, node.as({1, "target"}, DType::kF32));
  Shape shape = node.shape_of(pair.x);
  if (node.type_of(pair.target).elements() > node.type_of(pair.x).elements()) shape = node.shape_of(pair.target);
  PANTOUM_ASSIGN(pair.x, node.expand(pair.x, shape));
  PANTOUM_ASSIGN(pair.target, node.expand(pair.target, shape));
  return pair;
}

bool is_trained_through(Node& node, ValueId target) {
  return node.builder().graph().value(target).role != ir::Role::kInput;
}

Result<void> lower_mse(Node& node) {
  PANTOUM_ASSIGN(const Pair pair, read_pair(node));
  PANTOUM_ASSIGN(const int64_t reduction, reduction_of(node, {2, "reduction"}));
  if (reduction == kMean) return node.set(node.op(Kind::k_mse, {pair.x, pair.target}));
  PANTOUM_ASSIGN(ValueId d, node.op(Kind::k_sub, {pair.x, pair.target}));
  PANTOUM_ASSIGN(d, node.op(Kind::k_mul, {d, d}));
  return reduce_loss(node, d, reduction);
}

Result<void> lower_l1(Node& node) {
  PANTOUM_ASSIGN(const Pair pair, read_pair(node));
  PANTOUM_ASSIGN(const int64_t reduction, reduction_of(node, {2, "reduction"}));
  if (reduction == kMean) return node.set(node.op(Kind::k_l1, {pair.x, pair.target}));
  PANTOUM_ASSIGN(ValueId d, node.op(Kind::k_sub, {pair.x, pair.target}));
  PANTOUM_ASSIGN(d, node.op(Kind::k_abs, {d}));
  return reduce_loss(node, d, reduction);
}

// Where |d| < beta: d^2 / 2 * inner; else (|d| - beta / 2) * outer.
Result<ValueId> bent(Node& node, const Pair& pair, double beta, double inner, double outer) {
  PANTOUM_ASSIGN(const ValueId d, node.op(Kind::k_sub, {pair.x, pair.target}));
  PANTOUM_ASSIGN(const ValueId size, node.op(Kind::k_abs, {d}));
  PANTOUM_ASSIGN(ValueId square, node.op(Kind::k_mul, {d, d}));
  PANTOUM_ASSIGN(square, node.scale(square, 0.5 * inner));
  PANTOUM_ASSIGN(const ValueId line, node.scale(size, outer, -0.5 * beta * outer));
  PANTOUM_ASSIGN(const ValueId near,
                 node.op(Kind::k_compare, {size, node.constant(DType::kF32, {}, {beta})}, {{PT_COMPARE_LESS}, {}}));
  return chosen(node, near, square, line);
}

Result<void> lower_smooth_l1(Node& node) {
  PANTOUM_ASSIGN(const Pair pair, read_pair(node));
  PANTOUM_ASSIGN(const int64_t reduction, reduction_of(node, {2, "reduction"}));
  PANTOUM_ASSIGN(const double beta, node.number({3, "beta"}, 1));
  if (reduction == kMean) return node.set(node.op(Kind::k_smooth_l1, {pair.x, pair.target}, {{}, {beta}}));
  PANTOUM_ASSIGN(const ValueId each, bent(node, pair, beta, beta > 0 ? 1 / beta : 0, 1));
  return reduce_loss(node, each, reduction);
}

Result<void> lower_huber(Node& node) {
  PANTOUM_ASSIGN(const Pair pair, read_pair(node));
  PANTOUM_ASSIGN(const int64_t reduction, reduction_of(node, {2, "reduction"}));
  PANTOUM_ASSIGN(const double delta, node.number({3, "delta"}, 1));
  PANTOUM_ASSIGN(const ValueId each, bent(node, pair, delta, 1, delta));
  return reduce_loss(node, each, reduction);
}

// weight * ((1 - t) x + (1 + (pos - 1) t) softplus(-x))
Result<ValueId> binary_entropy(Node& node, const Pair& pair) {
  PANTOUM_ASSIGN(ValueId softplus, node.op(Kind::k_neg, {pair.x}));
  PANTOUM_ASSIGN(softplus, node.op(Kind::k_softplus, {softplus}));
  if (node.has({3, "pos_weight"})) {
    PANTOUM_ASSIGN(ValueId positive, node.real({3, "pos_weight"}));
    PANTOUM_ASSIGN(positive, node.scale(positive, 1, -1));
    PANTOUM_ASSIGN(positive, node.op(Kind::k_mul, {positive, pair.target}));
    PANTOUM_ASSIGN(positive, node.scale(positive, 1, 1));
    PANTOUM_ASSIGN(softplus, node.op(Kind::k_mul, {positive, softplus}));
  }
  PANTOUM_ASSIGN(ValueId rest, node.scale(pair.target, -1, 1));
  PANTOUM_ASSIGN(rest, node.op(Kind::k_mul, {rest, pair.x}));
  PANTOUM_ASSIGN(ValueId each, node.op(Kind::k_add, {rest, softplus}));
  if (!node.has({2, "weight"})) return each;
  PANTOUM_ASSIGN(const ValueId weight, node.real({2, "weight"}));
  return node.op(Kind::k_mul, {each, weight});
}

Result<void> lower_bce_with_logits(Node& node) {
  PANTOUM_ASSIGN(const Pair pair, read_pair(node));
  PANTOUM_ASSIGN(const int64_t reduction, reduction_of(node, {4, "reduction"}));
  const bool plain = !node.has({2, "weight"}) && !node.has({3, "pos_weight"}) && !is_trained_through(node, pair.target);
  if (plain && reduction == kMean) return node.set(node.op(Kind::k_bce_with_logits, {pair.x, pair.target}));
  PANTOUM_ASSIGN(const ValueId each, binary_entropy(node, pair));
  return reduce_loss(node, each, reduction);
}

// t (log t - x), 0 where t is 0; of targets that are logs, e^t (t - x).
Result<void> lower_kl_div(Node& node) {
  PANTOUM_ASSIGN(const Pair pair, read_pair(node));
  PANTOUM_ASSIGN(const int64_t reduction, reduction_of(node, {2, "reduction"}));
  PANTOUM_ASSIGN(const bool is_log, node.boolean({3, "log_target"}, false));
  if (!is_log && reduction == kMean && !is_trained_through(node, pair.target))
    return node.set(node.op(Kind::k_kl_div, {pair.x, pair.target}, {{}, {0}}));
  ValueId log = pair.target, probability = pair.target;
  if (is_log) {
    PANTOUM_ASSIGN(probability, node.op(Kind::k_exp, {pair.target}));
  } else {
    const ValueId zero = node.constant(DType::kF32, {}, {0}), one = node.constant(DType::kF32, {}, {1});
    PANTOUM_ASSIGN(const ValueId some, node.op(Kind::k_compare, {pair.target, zero}, {{PT_COMPARE_GREATER}, {}}));
    PANTOUM_ASSIGN(log, chosen(node, some, pair.target, one));
    PANTOUM_ASSIGN(log, node.op(Kind::k_log, {log}));
  }
  PANTOUM_ASSIGN(ValueId each, node.op(Kind::k_sub, {log, pair.x}));
  PANTOUM_ASSIGN(each, node.op(Kind::k_mul, {probability, each}));
  return reduce_loss(node, each, reduction);
}

// What cross_entropy compares, the classes in dimension 1.
struct Scores {
  ValueId x = ir::kNone, target = ir::kNone, weight = ir::kNone;
  int64_t reduction = kMean, ignored = -100, classes = 0;
  double smoothing = 0;
};

Result<Scores> read_scores(Node& node) {
  Scores scores;
  PANTOUM_ASSIGN(scores.x, node.real(kSelf));
  PANTOUM_ASSIGN(scores.target, node.tensor({1, "target"}));
  PANTOUM_ASSIGN(scores.reduction, reduction_of(node, {3, "reduction"}));
  PANTOUM_ASSIGN(scores.ignored, node.integer({4, "ignore_index"}, -100));
  PANTOUM_ASSIGN(scores.smoothing, node.number({5, "label_smoothing"}, 0));
  if (node.has({2, "weight"})) {
    PANTOUM_ASSIGN(scores.weight, node.real({2, "weight"}));
  }
  Shape shape = node.shape_of(scores.x);
  if (shape.empty()) return fail("E0211", "it has no classes");
  if (shape.size() == 1) {
    Shape target = node.shape_of(scores.target);
    target.insert(target.begin(), 1);
    PANTOUM_ASSIGN(scores.x, node.reshape(scores.x, {1, shape[0]}));
    PANTOUM_ASSIGN(scores.target, node.reshape(scores.target, target));
    shape = {1, shape[0]};
  }
  scores.classes = shape[1];
  return scores;
}

// [C] against [N, C, ..]
Result<ValueId> along_classes(Node& node, ValueId vector, size_t rank) {
  Shape wide(rank - 1, 1);
  wide[0] = node.type_of(vector).elements();
  return node.reshape(vector, wide);
}

// -sum over the classes of w t log p; the mean is over the samples.
Result<void> entropy_of_probabilities(Node& node, const Scores& scores) {
  const bool plain = scores.weight == ir::kNone && !is_trained_through(node, scores.target);
  if (plain && scores.reduction == kMean)
    return node.set(node.op(Kind::k_soft_cross_entropy, {scores.x, scores.target}, {{}, {scores.smoothing}}));
  PANTOUM_ASSIGN(ValueId log, node.op(Kind::k_log_softmax, {scores.x}, {{1}, {}}));
  ValueId target = scores.target;
  if (scores.smoothing > 0) {
    PANTOUM_ASSIGN(target,
                   node.scale(target, 1 - scores.smoothing, scores.smoothing / static_cast<double>(scores.classes)));
  }
  PANTOUM_ASSIGN(ValueId each, node.op(Kind::k_mul, {log, target}));
  if (scores.weight != ir::kNone) {
    PANTOUM_ASSIGN(const ValueId weight, along_classes(node, scores.weight, node.shape_of(each).size()));
    PANTOUM_ASSIGN(each, node.op(Kind::k_mul, {each, weight}));
  }
  PANTOUM_ASSIGN(each, node.reduce(Kind::k_reduce_sum, each, {1}, false));
  PANTOUM_ASSIGN(each, node.op(Kind::k_neg, {each}));
  if (scores.reduction == kNone) return node.set(node.reshape(each, node.output().shape));
  return reduce_loss(node, each, scores.reduction);
}

Result<ValueId> likelihood(Node& node, const Scores& scores, ValueId log, const char* reduction) {
  std::vector<ValueId> inputs = {log, scores.target};
  if (scores.weight != ir::kNone) inputs.push_back(scores.weight);
  PANTOUM_ASSIGN(const std::vector<ValueId> y,
                 node.onnx("NegativeLogLikelihoodLoss", inputs,
                           {{"reduction", std::string(reduction)}, {"ignore_index", scores.ignored}}));
  return y[0];
}

// The part of label smoothing: the mean over classes of -w log p, where the label counts, over what the labels weigh.
Result<ValueId> smooth_part(Node& node, const Scores& scores, ValueId log) {
  ValueId each = log;
  if (scores.weight != ir::kNone) {
    PANTOUM_ASSIGN(const ValueId weight, along_classes(node, scores.weight, node.shape_of(log).size()));
    PANTOUM_ASSIGN(each, node.op(Kind::k_mul, {each, weight}));
  }
  PANTOUM_ASSIGN(each, node.reduce(Kind::k_reduce_sum, each, {1}, false));
  PANTOUM_ASSIGN(each, node.scale(each, -1 / static_cast<double>(scores.classes)));
  const DType dtype = node.type_of(scores.target).dtype;
  PANTOUM_ASSIGN(const ValueId ignored,
                 node.op(Kind::k_compare, {scores.target, node.whole_constant(dtype, {}, {scores.ignored})},
                         {{PT_COMPARE_EQUAL}, {}}));
  const ValueId zero = node.constant(DType::kF32, {}, {0});
  PANTOUM_ASSIGN(each, chosen(node, ignored, zero, each));
  if (scores.reduction == kNone) return each;
  PANTOUM_ASSIGN(const ValueId sum, node.reduce(Kind::k_reduce_sum, each, {}, false));
  if (scores.reduction == kSum) return sum;
  // The sum of the labels' weights: a likelihood of -1 everywhere.
  PANTOUM_ASSIGN(const ValueId ones, node.expand(node.constant(DType::kF32, {}, {-1}), node.shape_of(log)));
  PANTOUM_ASSIGN(const ValueId total, likelihood(node, scores, ones, "sum"));
  return node.op(Kind::k_div, {sum, total});
}

Result<void> lower_cross_entropy(Node& node) {
  constexpr std::array kNames = {"none", "mean", "sum"};
  PANTOUM_ASSIGN(const Scores scores, read_scores(node));
  if (ir::is_float(node.type_of(scores.target).dtype)) return entropy_of_probabilities(node, scores);
  const bool labels_fit = node.type_of(scores.target).dtype == DType::kI64;
  // Labels below 0 do not count there: PyTorch has no others but the one that is ignored.
  if (scores.weight == ir::kNone && scores.reduction == kMean && labels_fit && scores.classes > 1)
    return node.set(node.op(Kind::k_cross_entropy, {scores.x, scores.target}, {{scores.ignored}, {scores.smoothing}}));
  PANTOUM_ASSIGN(const ValueId log, node.op(Kind::k_log_softmax, {scores.x}, {{1}, {}}));
  PANTOUM_ASSIGN(ValueId y, likelihood(node, scores, log, kNames.at(static_cast<size_t>(scores.reduction))));
  if (scores.smoothing > 0) {
    PANTOUM_ASSIGN(ValueId part, smooth_part(node, scores, log));
    PANTOUM_ASSIGN(part, node.scale(part, scores.smoothing));
    PANTOUM_ASSIGN(y, node.scale(y, 1 - scores.smoothing));
    PANTOUM_ASSIGN(y, node.op(Kind::k_add, {y, part}));
  }
  return node.set(node.reshape(y, node.output().shape));
}

constexpr std::array kLosses = {OperatorEntry{"nll_loss_forward.default", lower_nll},
                                OperatorEntry{"nll_loss2d_forward.default", lower_nll},
                                OperatorEntry{"nll_loss.default", lower_nll},
                                OperatorEntry{"nll_loss_nd.default", lower_nll},
                                OperatorEntry{"nll_loss2d.default", lower_nll},
                                OperatorEntry{"cross_entropy_loss.default", lower_cross_entropy},
                                OperatorEntry{"mse_loss.default", lower_mse},
                                OperatorEntry{"l1_loss.default", lower_l1},
                                OperatorEntry{"smooth_l1_loss.default", lower_smooth_l1},
                                OperatorEntry{"huber_loss.default", lower_huber},
                                OperatorEntry{"binary_cross_entropy_with_logits.default", lower_bce_with_logits},
                                OperatorEntry{"kl_div.default", lower_kl_div}};

}  // namespace

std::span<const OperatorEntry> loss_operators() {
  return kLosses;
}

}  // namespace pantoum::aten
