#include "train/run_loop.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>
#include <vector>

namespace pantoum::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Run {
 public:
  Run(Trainer& trainer, const artifact::TrainTest& data, const RunOptions& options)
      : trainer_(trainer), data_(data), options_(options), indices_(options.indices) {}

  Result<RunSummary> go() {
    PANTOUM_TRY(prepare());
    PANTOUM_TRY(catch_up());
    for (uint64_t epoch = trainer_.steps_done() / per_epoch_; epoch < options_.epochs && !stopped(); ++epoch) {
      if (patience_is_over()) break;
      PANTOUM_TRY(run_epoch(epoch));
    }
    PANTOUM_TRY(finish());
    summary_.steps = trainer_.steps_done();
    summary_.seconds = seconds_since(start_);
    return std::move(summary_);
  }

 private:
  Trainer& trainer_;
  const artifact::TrainTest& data_;
  const RunOptions& options_;
  std::span<uint32_t> indices_;
  std::vector<uint32_t> own_indices_;
  RunSummary summary_;
  uint64_t per_epoch_ = 1, checkpointed_at_ = UINT64_MAX;
  Clock::time_point start_ = Clock::now();
  double step_seconds_ = 0;
  uint64_t last_evaluated_ = UINT64_MAX;

  bool stopped() const { return summary_.interrupted || summary_.out_of_time; }

  Result<void> prepare() {
    const int64_t count = data_.train.count(), batch = trainer_.batch();
    if (count < batch)
      return fail("E0262", fmt::format("the data hold {} samples, fewer than a batch of {}", count, batch), {},
                  "use a smaller --batch or more data");
    if (count > int64_t{UINT32_MAX})
      return fail("E0262", fmt::format("{} samples are more than 2^32", count), {}, "split the data");
    if (options_.judge.judges() && (data_.test.count() == 0 || !options_.evaluate_every_epoch))
      return fail("E0262", "there is no test set to judge the epochs by", {},
                  "give a test set, or leave --early-stop and --keep-best out");
    per_epoch_ = static_cast<uint64_t>(count / batch);
    trainer_.set_total_steps(per_epoch_ * options_.epochs);
    if (indices_.size() != static_cast<size_t>(count)) {
      own_indices_.resize(static_cast<size_t>(count));
      indices_ = own_indices_;
    }
    return {};
  }

  Result<void> run_epoch(uint64_t epoch) {
    shuffle_epoch(trainer_.seed(), epoch, indices_);
    double loss_sum = 0;
    const uint64_t first = trainer_.steps_done() % per_epoch_;
    for (uint64_t position = first; position < per_epoch_; ++position) {
      if (must_stop()) return {};
      PANTOUM_TRY(run_step(epoch, position));
      loss_sum += summary_.loss;
    }
    return end_epoch(epoch, loss_sum / static_cast<double>(per_epoch_ - first));
  }

  bool must_stop() {
    if (options_.stop.stop_requested()) summary_.interrupted = true;
    if (options_.max_seconds > 0 && seconds_since(start_) >= options_.max_seconds) summary_.out_of_time = true;
    return stopped();
  }

  Result<void> run_step(uint64_t epoch, uint64_t position) {
    const auto batch = static_cast<size_t>(trainer_.batch());
    const Clock::time_point begun = Clock::now();
    auto stats = trainer_.step(data_.train, indices_.subspan(static_cast<size_t>(position) * batch, batch));
    if (!stats) return with_checkpoint(std::move(stats).error());
    step_seconds_ += seconds_since(begun);
    ++summary_.ran;
    summary_.loss = stats->loss;
    if (options_.progress) report_progress(epoch, *stats);
    if (options_.checkpoint_every > 0 && stats->step % options_.checkpoint_every == 0) return checkpoint(epoch);
    return {};
  }

  void report_progress(uint64_t epoch, const StepStats& stats) const {
    const double samples = static_cast<double>(summary_.ran) * static_cast<double>(trainer_.batch());
    options_.progress({.step = stats.step,
                       .total_steps = per_epoch_ * options_.epochs,
                       .epoch = epoch,
                       .loss = stats.loss,
                       .lr = stats.lr,
                       .samples_per_s = step_seconds_ > 0 ? samples / step_seconds_ : 0,
                       .seconds = seconds_since(start_)});
  }

  Failure with_checkpoint(Error error) const {
    error.notes.push_back(summary_.checkpoint.empty() ? "this run has written no checkpoint"
                                                      : "last checkpoint: " + summary_.checkpoint);
    return Failure(std::move(error));
  }

  Result<void> checkpoint(uint64_t epoch) {
    if (options_.checkpoint.empty() || checkpointed_at_ == trainer_.steps_done()) return {};
    PANTOUM_TRY(trainer_.save(options_.checkpoint));
    checkpointed_at_ = trainer_.steps_done();
    summary_.checkpoint = options_.checkpoint;
    if (options_.log)
      options_.log({.kind = RunEvent::Kind::kCheckpoint,
                    .step = checkpointed_at_,
                    .epoch = epoch,
                    .mean_loss = 0,
                    .evaluation = {},
                    .seconds = seconds_since(start_)});
    return {};
  }

  Result<void> end_epoch(uint64_t epoch, double mean_loss) {
    if (options_.evaluate_every_epoch) PANTOUM_TRY(evaluate());
    PANTOUM_TRY(judge());
    if (options_.log)
      options_.log({.kind = RunEvent::Kind::kEpoch,
                    .step = trainer_.steps_done(),
                    .epoch = epoch,
                    .mean_loss = mean_loss,
                    .evaluation = options_.evaluate_every_epoch ? summary_.evaluation : std::nullopt,
                    .best = options_.judge.judges() && trainer_.standing().best_step == trainer_.steps_done(),
                    .seconds = seconds_since(start_)});
    return {};
  }

  Result<void> evaluate() {
    if (data_.test.count() == 0 || last_evaluated_ == trainer_.steps_done()) return {};
    auto evaluation = trainer_.evaluate(data_.test);
    if (!evaluation) return with_checkpoint(std::move(evaluation).error());
    summary_.evaluation = *evaluation;
    last_evaluated_ = trainer_.steps_done();
    return {};
  }

  // The epoch that just ended, once.
  Result<void> judge() {
    const uint64_t step = trainer_.steps_done();
    Standing standing = trainer_.standing();
    if (!options_.judge.judges() || standing.judged_step == step) return {};
    if (options_.judge.by_accuracy && !summary_.evaluation->has_accuracy)
      return fail("E0262", "the model has no accuracy to judge the epochs by", {}, "judge by the loss");
    const double value = options_.judge.by_accuracy ? summary_.evaluation->accuracy : summary_.evaluation->loss;
    const bool better = options_.judge.by_accuracy ? value > standing.best : value < standing.best;
    standing.judged_step = step;
    ++standing.stale;
    if (better || standing.best_step == 0) standing = {.best = value, .best_step = step, .judged_step = step};
    trainer_.set_standing(standing);
    return standing.best_step == step && !options_.judge.best.empty() ? trainer_.save(options_.judge.best)
                                                                      : Result<void>{};
  }

  // A checkpoint written by the last step of an epoch does not know the evaluation that followed.
  Result<void> catch_up() {
    if (!options_.judge.judges() || trainer_.steps_done() == 0 || trainer_.steps_done() % per_epoch_ != 0) return {};
    if (trainer_.standing().judged_step == trainer_.steps_done()) return {};
    PANTOUM_TRY(evaluate());
    return judge();
  }

  bool patience_is_over() {
    summary_.stopped_early = options_.judge.patience > 0 && trainer_.standing().stale >= options_.judge.patience;
    return summary_.stopped_early;
  }

  Result<void> finish() {
    if (stopped()) PANTOUM_TRY(checkpoint(trainer_.steps_done() / per_epoch_));
    if (!summary_.interrupted) return evaluate();
    if (last_evaluated_ != trainer_.steps_done()) summary_.evaluation.reset();
    return {};
  }
};

}  // namespace

Result<RunSummary> run_training(Trainer& trainer, const artifact::TrainTest& data, const RunOptions& options) {
  return Run(trainer, data, options).go();
}

}  // namespace pantoum::train
