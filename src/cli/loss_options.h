// What is minimized and measured, as users word it: --loss, --metrics.
#pragma once

#include <string>
#include <vector>

#include "autodiff/autodiff.h"
#include "cli/line/options.h"

namespace pantoum::cli {

struct LossWords {
  std::vector<std::string> losses = {"cross_entropy"};  // [OUTPUT=]LOSS[,KEY=VALUE]...
  std::vector<std::string> metrics;                     // top5, mae, perplexity
  [[nodiscard]] bool perplexity() const;
};

void add_loss_options(Verb& verb, LossWords& words);

// E0115 a loss, setting or metric that is not known; E0116 a number out of range; E0117 a setting that the loss does
// not have.
[[nodiscard]] Result<std::vector<autodiff::LossTerm>> losses_of(const LossWords& words);
[[nodiscard]] Result<autodiff::Metrics> metrics_of(const LossWords& words);

}  // namespace pantoum::cli
