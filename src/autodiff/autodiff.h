// Makes the training graph (loss, gradients and optimizer as ops of one graph) and the evaluation graph from the forward graph.
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
using ::pantoum::Metrics;
using ::pantoum::Optimizer;
using ::pantoum::ParameterGroup;
using ::pantoum::RmsProp;
using ::pantoum::Sgd;

// The losses of pantoum::kLossNames, in its order.
enum class Loss {
  kCrossEntropy,      // logits [N,C,..] and labels i64 [N,..]
  kSoftCrossEntropy,  // logits and a probability for each class
  kNll,               // log-probabilities [N,C,..] and labels
  kMse,               // this loss and those below it: a target of the output's type
  kL1,
  kSmoothL1,
  kBceWithLogits,
  kKlDiv,    // log-probabilities and probabilities
  kCaptured  // the model computes the loss itself (ir::kCapturedLoss), and all targets are inputs of the model
};
using LossTerm = ::pantoum::Loss;
[[nodiscard]] Loss kind_of(const LossTerm& term);     // the term's name has to be one of kLossNames
[[nodiscard]] bool has_labels(const LossTerm& term);  // returns whether the target is a class label

// For tests: the graph has no updates, and the gradients are its outputs. Becomes a CustomUpdate without a name.
struct NoOptimizer {
  operator Optimizer() const { return CustomUpdate{}; }
};

// The functions below read these options: losses, optimizer and groups, freeze, clipping, accumulate, split_update, metrics.
using TrainingOptions = ::pantoum::ModelOptions;

// Freezes the parameters that the globs match. E0104: a glob matches no parameter; the error lists all such globs.
[[nodiscard]] Result<void> freeze(Graph& forward, const std::vector<std::string>& globs);

// Returns the training step. Results: [loss]. The targets are the inputs "label" or, with several terms, "label.<output>". Every
// trained parameter p gets p.next and its optimizer state "optim.<what>.<p>", where <what> is momentum; adam_m, adam_v, adam_max; square, mean, momentum; or
// sum. With NoOptimizer the gradients are outputs named "grad.<p>".
//   * In the order of ops, the update of a parameter comes directly after the sum of its gradients, so that RAM need not hold all gradients together.
//   * The backward pass has no ops for values that depend on no trained parameter. Ops that no result and no update needs are dropped.
//   * For each batch_norm, an op batch_norm_stats updates the running statistics. This op and all updates have recompute = false.
//   * With `accumulate` micro-batches every trained parameter has a state "accumulated.<p>". The steps of make_accumulation add to this state, and
//   this step empties it: the update uses the mean of all gradients. Clipping computes the norm of all gradients from one norm per gradient.
// Errors: E0402: an op between a trained parameter and the loss has no gradient (the notes list all such ops); E0403: the output does not fit the
// loss, or does not exist; E0117: SparseAdam and a table whose gradient something else would read; E0104: a glob matches no parameter; E0405: no parameter trains.
[[nodiscard]] Result<Graph> make_training(const Graph& forward, const TrainingOptions& options);

// Returns the step for every micro-batch except the last (with split_update: for every micro-batch), which adds the gradients to "accumulated.<p>".
// Results: [loss]. Errors: those of make_training.
[[nodiscard]] Result<Graph> make_accumulation(const Graph& forward, const TrainingOptions& options);

// Returns the update of a step with split_update. Such a step runs make_accumulation's graph (`gradients`) for every micro-batch and then this graph,
// which computes the mean of the accumulated states, clips the gradients and runs the optimizer. This graph has no inputs and no results. The two
// graphs give the same bits as make_training's step, except if plain SGD or Adagrad trains an embedding, where the fused update adds row after row.
[[nodiscard]] Result<Graph> make_update(const Graph& gradients, const TrainingOptions& options);

// Returns the evaluation step. Its parameters and buffers have the same names as in training; batch norm uses its running statistics, and there is no
// dropout. Results: "loss", the weighted sum; with several terms, the weighted "loss.<output>" of each term; "count_correct" for every term with
// labels, and "label_weight", what the labels weigh, where it has class weights; then the metrics "count_top5" and "mean_absolute_error". With several terms, the names of counts and metrics end in ".<output>".
[[nodiscard]] Result<Graph> make_evaluation(const Graph& forward, const TrainingOptions& options);

// Returns the step that gives the model's outputs: make_evaluation's without its losses. It reads the inputs alone that the outputs are made of, and a
// target where an output is made of that. Results: "<k>:<output>" for output k, each with the batch as its first dimension; of a batch of 1, whose
// rows are the sample itself, an output of any shape with a 1 in front. Left out: the loss of a captured model, values that no input changes, and,
// with a note, outputs of another first dimension. Errors: those of make_evaluation.
[[nodiscard]] Result<Graph> make_prediction(const Graph& forward, const TrainingOptions& options);

// Returns the forward program without a loss. Its parameters and buffers have the same names as in training; batch norm uses its running statistics,
// and there is no dropout. Results: the model's outputs. `fixed`: parameters and buffers become constants, so that values which depend only on them
// can be computed once.
[[nodiscard]] Result<Graph> make_inference(const Graph& forward, bool fixed);

}  // namespace pantoum::autodiff
