// Forward graph -> training graph: loss, gradients, optimizer step, as ops of one graph. And the evaluation graph.
#pragma once

#include <string>
#include <vector>

#include "base/index.h"
#include "ir/builder.h"
#include "pantoum/model.hpp"

namespace pantoum::autodiff {

using base::position_of;
using ir::Attrs;
using ir::Builder;
using ir::DType;
using ir::Graph;
using ir::Kind;
using ir::kNone;
using ir::Op;
using ir::OpId;
using ir::Shape;
using ir::TensorType;
using ir::Value;
using ir::ValueId;

using ::pantoum::Adagrad;
using ::pantoum::Adam;
using ::pantoum::AdamW;
using ::pantoum::CustomUpdate;
using ::pantoum::DecayOf;
using ::pantoum::Metrics;
using ::pantoum::Optimizer;
using ::pantoum::RmsProp;
using ::pantoum::Sgd;

// The losses of pantoum::kLossNames, in its order.
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
using LossTerm = ::pantoum::Loss;
[[nodiscard]] Loss kind_of(const LossTerm& term);     // its name is known
[[nodiscard]] bool has_labels(const LossTerm& term);  // classes as labels

// Gradients alone, as outputs of the graph: an update without a name (tests).
struct NoOptimizer {
  operator Optimizer() const { return CustomUpdate{}; }
};

// What is read of them here: losses, optimizer and decays, freeze, clipping, accumulate, split_update, metrics.
using TrainingOptions = ::pantoum::ModelOptions;

// Freezes the parameters that the globs name. E0104 with all globs that name none.
[[nodiscard]] Result<void> freeze(Graph& forward, const std::vector<std::string>& globs);

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
[[nodiscard]] Result<Graph> make_training(const Graph& forward, const TrainingOptions& options);

// The step of all micro-batches but the last (with split_update, of all): adds the gradients to "accumulated.<p>". Results: [loss]. Errors as
// above.
[[nodiscard]] Result<Graph> make_accumulation(const Graph& forward, const TrainingOptions& options);

// With split_update a step is make_accumulation's for every micro-batch, and then this: the mean of the states of
// `gradients`, clipping and the optimizer. No inputs, no results. Both together give the bits of make_training's step, but
// where plain SGD trains an embedding: the fused update adds row after row.
[[nodiscard]] Result<Graph> make_update(const Graph& gradients, const TrainingOptions& options);

// The evaluation step, same parameters and buffers by name: batch norm by its running statistics, no dropout. Results:
// "loss", the weighted sum; with several terms each one's weighted "loss.<output>"; for every term with labels
// "count_correct"; then the metrics "count_top5" and "mean_absolute_error"; with several terms under names that end in
// ".<output>".
[[nodiscard]] Result<Graph> make_evaluation(const Graph& forward, const TrainingOptions& options);

// The forward program alone, same parameters and buffers by name: batch norm by its running statistics, no dropout, no
// loss. Results: the model's outputs. `fixed`: parameters and buffers are constants, so that what is computed of them
// alone may be computed once.
[[nodiscard]] Result<Graph> make_inference(const Graph& forward, bool fixed);

}  // namespace pantoum::autodiff
