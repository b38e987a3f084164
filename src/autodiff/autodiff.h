// Forward graph -> training graph: loss, gradients, optimizer step, as ops of one graph. And the evaluation graph.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace pantoum::autodiff {

// What a model's output is compared with, as torch.nn.functional has them; all are means.
enum class Loss {
  kCrossEntropy,      // logits [N,C,..] and labels i64 [N,..]
  kSoftCrossEntropy,  // logits and a probability for each class
  kNll,               // log-probabilities [N,C,..] and labels
  kMse,               // from here on: targets of the output's type
  kL1,
  kSmoothL1,
  kBceWithLogits,
  kKlDiv,    // log-probabilities and probabilities
  kCaptured  // the model computes it itself (ir::kCapturedLoss): there is no target beside its inputs
};
[[nodiscard]] bool has_labels(Loss loss);  // classes as labels

// One term of what is minimized.
struct LossTerm {
  Loss loss = Loss::kCrossEntropy;
  std::string output = {};     // of the model, by its ONNX name; "": the first
  double weight = 1;           // its part in the sum
  double smoothing = 0;        // of labels: cross-entropy, with labels or probabilities
  int64_t ignore_index = -1;   // a label that does not count, beside those below 0
  double beta = 1;             // smooth L1: where the parabola ends
  bool classes_last = false;   // they are dimension 1 otherwise; a final softmax tells it by itself
  bool mean_of_batch = false;  // KL: the sum over the samples' number, in place of the elements'
};

// What an evaluation measures beside the loss.
struct Metrics {
  bool top5 = false;                 // labels among the 5 highest scores, for outputs with labels
  bool mean_absolute_error = false;  // for outputs with targets
};

struct Sgd {
  double momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
struct Adam {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
struct AdamW {  // decoupled weight decay
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};
struct RmsProp {
  double alpha = 0.99, eps = 1e-8, momentum = 0, weight_decay = 0;
  bool centered = false;
};
struct Adagrad {
  double lr_decay = 0, eps = 1e-10, weight_decay = 0;
};
// An update from outside the project (base/custom_operators.h): states "optim.<name>.<p>", zeros at first.
struct CustomOptimizer {
  std::string op;  // "domain::Type"
  std::vector<std::string> states = {};
  std::vector<double> settings = {};  // its real attributes
};
struct NoOptimizer {};  // gradients alone, as outputs of the graph (tests)
using Optimizer = std::variant<Sgd, Adam, AdamW, RmsProp, Adagrad, CustomOptimizer, NoOptimizer>;

// The weight decay of some parameters, in place of the optimizer's.
struct DecayOf {
  std::string names;  // a glob (fnmatch) over parameters
  double weight_decay = 0;
};

struct TrainingOptions {
  std::vector<LossTerm> losses = {LossTerm{}};  // at least one; each of another output
  Optimizer optimizer = Sgd{};
  std::vector<DecayOf> decays = {};      // the last that names a parameter holds; not for custom optimizers
  std::vector<std::string> freeze = {};  // globs over parameter names (fnmatch)
  double clip_value = 0, clip_norm = 0;  // limits of gradients: each element's size, the norm of all together; 0: none
  int64_t accumulate = 1;                // micro-batches whose mean gradient makes a step
  bool split_update = false;  // gradients and update as two graphs, so that others may change what is between
  Metrics metrics = {};
};

// Freezes the parameters that the globs name. E0104 with all globs that name none.
[[nodiscard]] Result<void> freeze(ir::Graph& forward, const std::vector<std::string>& globs);

// The training step. Results: [loss]. The targets are the inputs "label", or with several terms "label.<output>". Every
// trained parameter p gets p.next and its optimizer state "optim.<what>.<p>", what being momentum; adam_m, adam_v;
// square, mean, momentum; sum. With NoOptimizer the gradients are outputs named "grad.<p>".
//   * The update of a parameter follows the sum of all its gradients at once in the order of ops, so that gradients
//   need not live together.
//   * The backward stops where nothing below it trains. Ops outside the step's results and updates are dropped.
//   * batch_norm gets batch_norm_stats (recompute = false) for its running statistics; updates have recompute = false.
//   * With `accumulate` micro-batches every trained parameter has a state "accumulated.<p>", which make_accumulation's
//   steps fill and this one empties: the update sees the mean of all gradients. The parts of a clipped norm are the
//   gradients' norms, so that the norm of all is one of few numbers.
// Errors: E0402 an op on the way has no gradient (all of them as notes); E0403 the output does not fit the loss, or is
// not there; E0104 a glob that names no parameter; E0405 nothing trains.
[[nodiscard]] Result<ir::Graph> make_training(const ir::Graph& forward, const TrainingOptions& options);

// The step of all micro-batches but the last (with split_update, of all): adds the gradients to "accumulated.<p>". Results: [loss]. Errors as
// above.
[[nodiscard]] Result<ir::Graph> make_accumulation(const ir::Graph& forward, const TrainingOptions& options);

// With split_update a step is make_accumulation's for every micro-batch, and then this: the mean of the states of
// `gradients`, clipping and the optimizer. No inputs, no results. Both together give the bits of make_training's step, but
// where plain SGD trains an embedding: the fused update adds row after row.
[[nodiscard]] Result<ir::Graph> make_update(const ir::Graph& gradients, const TrainingOptions& options);

// The evaluation step, same parameters and buffers by name: batch norm by its running statistics, no dropout. Results:
// "loss", the weighted sum; with several terms each one's weighted "loss.<output>"; for every term with labels
// "count_correct"; then the metrics "count_top5" and "mean_absolute_error"; with several terms under names that end in
// ".<output>".
[[nodiscard]] Result<ir::Graph> make_evaluation(const ir::Graph& forward, const TrainingOptions& options);

// The forward program alone, same parameters and buffers by name: batch norm by its running statistics, no dropout, no
// loss. Results: the model's outputs. `fixed`: parameters and buffers are constants, so that what is computed of them
// alone may be computed once.
[[nodiscard]] Result<ir::Graph> make_inference(const ir::Graph& forward, bool fixed);

}  // namespace pantoum::autodiff
