// The step as users word it: --optimizer and the options that belong to it, what happens to gradients before.
#pragma once

#include <optional>
#include <string>

#include "autodiff/autodiff.h"
#include "cli/line/options.h"

namespace pantoum::cli {

// What is not given is as in PyTorch's optimizer of that name.
struct OptimizerWords {
  std::string name = "sgd";
  double lr = 0.01;
  std::optional<double> momentum, weight_decay, beta1, beta2, eps, alpha, lr_decay;
  bool nesterov = false, centered = false;
  double clip_value = 0, clip_norm = 0;  // 0: none
  int64_t accumulate = 1;
};

void add_optimizer_options(Verb& verb, OptimizerWords& words);

// E0116 a number out of range; E0117 an option that the optimizer does not have.
[[nodiscard]] Result<autodiff::Optimizer> optimizer_of(const OptimizerWords& words);

}  // namespace pantoum::cli
