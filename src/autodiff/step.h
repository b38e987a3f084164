// Functions that the makers of training, accumulation, update and evaluation steps share.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autodiff/autodiff.h"

namespace pantoum::autodiff {

// Called as soon as a trained parameter's gradient is complete; what it appends stands right behind the last op of that
// gradient.
using OnGradient = std::function<void(ValueId parameter, ValueId gradient)>;

// A loss op's output and its part in what is minimized.
struct WeightedLoss {
  ValueId loss = kNone;
  double weight = 1;
};

// Appends the gradients of the weighted sum of `losses` by every trainable parameter that it depends on, in this order:
// an op's parameters first, then its input; ops on parameters alone (a transposed weight) as early as possible. Nothing
// is made that no parameter needs. Errors: E0402 ops on the way have no gradient (all of them as notes); E0405 the loss
// depends on no trainable parameter.
[[nodiscard]] Result<void> append_backward(Builder& builder, const std::vector<WeightedLoss>& losses,
                                           const OnGradient& on_gradient);

// ---- Losses: the ops that are appended to a model's outputs.

struct LossSite {
  LossTerm term;
  std::string suffix;                          // of names that belong to it: "", or ".<output>" beside others
  ValueId prediction = kNone, target = kNone;  // what the loss op reads
  ValueId label = kNone;  // the input "label": i64 [N,..] where classes are told, else of the prediction's type
  ValueId loss = kNone, weighted = kNone;
  ValueId label_weight = kNone;  // what the labels weigh, where there are class weights
};

struct Losses {
  std::vector<LossSite> sites;
  ValueId sum = kNone;  // weighted; named "loss"
};

// Appends for every term the label input and the loss op, and their weighted sum. For losses of logits a final Softmax
// or LogSoftmax over the classes (a final Sigmoid for binary ones) is passed over, and graph.notes says so. Classes on
// the last of several dimensions are read as [positions, classes]: a view. Errors: E0403.
[[nodiscard]] Result<Losses> add_losses(Builder& builder, const std::vector<LossTerm>& terms);

// The output with the term's batch as its first dimension. The dimension exists.
[[nodiscard]] ValueId batch_first(Builder& builder, ValueId output, const LossTerm& term, const std::string& name);

// Sets the loss of a term with class weights, as a scalar: the mean of torch.nn.CrossEntropyLoss(weight=..), which is weighted by the labels'
// classes (label_weight is the sum of their weights); of probabilities, over the positions. `site` has its operands, with the classes in dimension 1.
void add_weighted_loss(Builder& builder, LossSite& site, const std::string& name);

// Optimizer steps.

// `made` follows `value` from the next step on, under the name "<value>'".
void succeed(Builder& builder, ValueId value, ValueId made);

// Appends the update of one parameter: its successor "<p>'", the op "<p>.<optimizer>", and its state. A gradient that is smaller along a dimension
// is one of the first elements along it: these alone are updated, and the state is theirs. With
// NoOptimizer the gradient becomes an output of the graph, named "grad.<p>".
void append_update(Builder& builder, const TrainingOptions& options, ValueId parameter, ValueId gradient);

// How much of a gradient is rows that gathers along the first axis of an embedding table scatter.
enum class RowsOf : uint8_t { none, some, all };
[[nodiscard]] RowsOf rows_of(const Graph& graph, ValueId gradient);

// Whether the group's globs name this parameter.
[[nodiscard]] bool names(const ParameterGroup& group, const std::string& parameter);

// From a gradient to the update: the mean over micro-batches, clipping, the optimizer.

// Takes each gradient as soon as it is complete. What needs no other gradient is appended at once, so that gradients
// need not live together; clipping by the norm of all holds them back until `finish`.
class GradientChain {
 public:
  GradientChain(Builder& builder, const TrainingOptions& options) : builder_(builder), options_(options) {}

  void take(ValueId parameter, ValueId gradient);
  // Call it after the last gradient.
  void finish();

 private:
  struct Held {
    ValueId parameter, gradient, norm;
  };
  [[nodiscard]] ValueId mean_of(const std::string& name, ValueId parameter, ValueId gradient);
  [[nodiscard]] ValueId norm_of_all();

  Builder& builder_;
  const TrainingOptions& options_;
  std::vector<Held> held_;
};

// The neutral element of addition: x + kNothing has the bits of x for every x. (-0 + 0 would be 0.)
inline constexpr double kNothing = -0.0;

// The state that a parameter's gradients, of this type, are added to: "accumulated.<p>".
[[nodiscard]] ValueId accumulator_of(Builder& builder, ValueId parameter, const TensorType& gradient);

}  // namespace pantoum::autodiff
