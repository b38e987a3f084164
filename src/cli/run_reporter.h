// Reports a training while it runs: lines of the run log and of the terminal.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "autodiff/autodiff.h"
#include "cli/progress.h"
#include "cli/run_log.h"
#include "pipeline/prepare_training.h"
#include "train/run_loop.h"
#include "train/trainer.h"

namespace pantoum::cli {

// An evaluation as users read it: words for the terminal, keys for the run log.

struct ReportedLosses {
  std::vector<autodiff::LossTerm> terms;
  bool perplexity = false;  // e to the cross-entropy
};

// "test_loss", "test_accuracy", "test_top5", "test_mae", "test_perplexity"; with several losses "outputs" too, which
// has them for each.
[[nodiscard]] nlohmann::ordered_json to_json(const train::Evaluation& evaluation, const ReportedLosses& losses);

// "  test loss 0.3120  test accuracy 0.8919"
[[nodiscard]] std::string to_text(const train::Evaluation& evaluation, const ReportedLosses& losses);

// The facts that are reported for every training. All of them must outlive the reporter.
struct ReportedRun {
  const pipeline::PlannedStep& step;
  const train::Trainer& trainer;
  ReportedLosses losses;
};

class RunReporter {
 public:
  // `log_every`: steps between lines of the log.
  RunReporter(const ReportedRun& run, RunLog& log, int64_t log_every, bool quiet);

  void step(const FitProgress& progress);
  void event(const train::RunEvent& event);
  // The first error of the log.
  [[nodiscard]] const Result<void>& status() const { return status_; }

 private:
  void keep(Result<void> result);

  const ReportedRun& run_;
  RunLog& log_;
  ProgressLine line_;
  uint64_t log_every_;
  Result<void> status_;
};

// The last line of the log: "end" or "interrupted".
[[nodiscard]] nlohmann::ordered_json end_event(const ReportedRun& run, const train::RunSummary& summary);

}  // namespace pantoum::cli
