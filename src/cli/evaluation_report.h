// An evaluation as users read it: words for the terminal, keys for the run log.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "autodiff/autodiff.h"
#include "train/trainer.h"

namespace pantoum::cli {

struct ReportedLosses {
  std::vector<autodiff::LossTerm> terms;
  bool perplexity = false;  // e to the cross-entropy
};

// "test_loss", "test_accuracy", "test_top5", "test_mae", "test_perplexity"; with several losses "outputs" too, which
// has them for each.
[[nodiscard]] nlohmann::ordered_json to_json(const train::Evaluation& evaluation, const ReportedLosses& losses);

// "  test loss 0.3120  test accuracy 0.8919"
[[nodiscard]] std::string to_text(const train::Evaluation& evaluation, const ReportedLosses& losses);

}  // namespace pantoum::cli
