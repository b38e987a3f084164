// Forward graph -> training graph: loss, gradients, optimizer step, as ops of one graph. And the evaluation graph.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "ir/graph.h"

namespace pantoum::autodiff {

enum class Loss { kCrossEntropy, kMse };

struct Sgd {
  double momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
struct Adam {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
struct NoOptimizer {};  // gradients alone, as outputs of the graph (tests)
using Optimizer = std::variant<Sgd, Adam, NoOptimizer>;

struct TrainingOptions {
  Loss loss = Loss::kCrossEntropy;
  Optimizer optimizer = Sgd{};
  std::vector<std::string> freeze = {};  // globs over parameter names (fnmatch)
};

// The training step. Results: [loss]. Every trained parameter p gets p.next and its optimizer state
// "optim.momentum.<p>" or "optim.adam_m.<p>", "optim.adam_v.<p>"; with NoOptimizer the gradients are outputs named
// "grad.<p>".
//   * The update of a parameter follows the sum of all its gradients at once in the order of ops, so that gradients
//   need not live together.
//   * The backward stops where nothing below it trains. Ops outside the step's results and updates are dropped.
//   * batch_norm gets batch_norm_stats (recompute = false) for its running statistics; updates have recompute = false.
// Errors: E0402 an op on the way has no gradient (all of them as notes); E0403 the output does not fit the loss; E0104
// a glob that names no parameter; E0405 nothing trains.
[[nodiscard]] Result<ir::Graph> make_training(const ir::Graph& forward, const TrainingOptions& options);

// The evaluation step, same parameters and buffers by name: batch norm by its running statistics, no dropout.
// Results: [loss, count_correct] for cross-entropy, [loss] for mse.
[[nodiscard]] Result<ir::Graph> make_evaluation(const ir::Graph& forward, const TrainingOptions& options);

}  // namespace pantoum::autodiff
