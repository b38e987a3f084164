#include "train/run_loop.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/inputs_in_use.h"
#include "data/finite.h"
#include "train/checkpoint.h"

namespace pantoum::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<void> check_steps(uint64_t per_epoch, uint64_t epochs) {
  if (epochs <= kMostSteps / per_epoch) return {};
  return fail("E0120", fmt::format("{} epochs of {} steps are more than {} steps", epochs, per_epoch, kMostSteps),
              "--epochs", "give fewer epochs");
}

class Run {
 public:
  Run(Trainer& trainer, const ProducedData& data, const RunOptions& options)
      : trainer_(trainer), data_(data), options_(options), per_epoch_(data.steps_per_epoch) {}
  ~Run() { trainer_.end_feed(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Result<RunSummary> go() {
    if (options_.judge.judges() && !tests())
      return fail("E0262", "there is no test set to judge the epochs by", {},
                  "give a test set, or leave --early-stop and --keep-best out");
    PANTOUM_TRY(check_steps(per_epoch_, options_.epochs));
    trainer_.set_total_steps(per_epoch_ * options_.epochs);
    PANTOUM_TRY(catch_up());
    const int64_t samples = data_.samples > 0 ? data_.samples : static_cast<int64_t>(per_epoch_) * trainer_.batch();
    trainer_.feed(data_.produce, per_epoch_ * options_.epochs, samples);
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
  const ProducedData& data_;
  const RunOptions& options_;
  RunSummary summary_;
  uint64_t per_epoch_, checkpointed_at_ = UINT64_MAX;
  Clock::time_point start_ = Clock::now();
  double with_batches_ = 0;  // seconds of steps and their batches
  uint64_t last_evaluated_ = UINT64_MAX;

  bool in_steps_ = false;

  void tell_of_steps(bool steps) {
    if (steps != in_steps_ && options_.on_steps) options_.on_steps(steps);
    in_steps_ = steps;
  }

  bool tests() const { return data_.test != nullptr && data_.test->count() > 0; }
  bool stopped() const { return summary_.interrupted || summary_.out_of_time; }

  Result<void> run_epoch(uint64_t epoch) {
    double loss_sum = 0;
    const uint64_t first = trainer_.steps_done() % per_epoch_;
    for (uint64_t position = first; position < per_epoch_; ++position) {
      if (must_stop()) return {};
      PANTOUM_TRY(run_step(epoch));
      loss_sum += summary_.loss;
    }
    return end_epoch(epoch, loss_sum / static_cast<double>(per_epoch_ - first));
  }

  bool must_stop() {
    if (options_.stop.stop_requested()) summary_.interrupted = true;
    if (options_.max_seconds > 0 && seconds_since(start_) >= options_.max_seconds) summary_.out_of_time = true;
    return stopped();
  }

  Result<void> run_step(uint64_t epoch) {
    tell_of_steps(true);
    const Clock::time_point begun = Clock::now();
    const double waited = trainer_.batch_seconds();
    auto stats = trainer_.step();
    if (!stats) return with_checkpoint(std::move(stats).error());
    const double taken = seconds_since(begun);
    with_batches_ += taken;
    summary_.step_seconds += taken - (trainer_.batch_seconds() - waited);
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
                       .samples_per_s = with_batches_ > 0 ? samples / with_batches_ : 0,
                       .seconds = seconds_since(start_)});
  }

  Failure with_checkpoint(Error error) const {
    error.notes.push_back(summary_.checkpoint.empty() ? "this run has written no checkpoint"
                                                      : "last checkpoint: " + summary_.checkpoint);
    return Failure(std::move(error));
  }

  Result<void> checkpoint(uint64_t epoch) {
    if (options_.checkpoint.empty() || checkpointed_at_ == trainer_.steps_done()) return {};
    tell_of_steps(false);
    const bool keep = !summary_.checkpoint.empty() || options_.old_checkpoint == OldCheckpoint::kOwn;
    const std::string previous = previous_checkpoint(options_.checkpoint);
    PANTOUM_TRY(trainer_.save(options_.checkpoint, keep ? previous : ""));
    if (!keep && options_.old_checkpoint == OldCheckpoint::kForeign) ::unlink(previous.c_str());
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
    tell_of_steps(false);
    PANTOUM_TRY(evaluate());
    if (summary_.interrupted) return {};  // a resumed run evaluates
    PANTOUM_TRY(judge());
    if (options_.log)
      options_.log({.kind = RunEvent::Kind::kEpoch,
                    .step = trainer_.steps_done(),
                    .epoch = epoch,
                    .mean_loss = mean_loss,
                    .evaluation = summary_.evaluation,
                    .best = options_.judge.judges() && trainer_.best_so_far().best_step == trainer_.steps_done(),
                    .seconds = seconds_since(start_)});
    return {};
  }

  Result<void> evaluate() {
    if (data_.test == nullptr || data_.test->count() == 0 || last_evaluated_ == trainer_.steps_done()) return {};
    auto evaluation = trainer_.evaluate(*data_.test, [this] {
      if (options_.on_evaluated) options_.on_evaluated();
      return !options_.stop.stop_requested();
    });
    if (!evaluation && evaluation.error().code == "E0999") {
      summary_.interrupted = true;
      return {};
    }
    if (!evaluation) return with_checkpoint(std::move(evaluation).error());
    summary_.evaluation = *evaluation;
    last_evaluated_ = trainer_.steps_done();
    return {};
  }

  // The epoch that just ended, once.
  Result<void> judge() {
    const uint64_t step = trainer_.steps_done();
    BestSoFar best_so_far = trainer_.best_so_far();
    if (!options_.judge.judges() || best_so_far.judged_step == step) return {};
    if (options_.judge.by_accuracy && !summary_.evaluation->has_accuracy)
      return fail("E0262", "the model has no accuracy to judge the epochs by", {}, "judge by the loss");
    const double value = options_.judge.by_accuracy ? summary_.evaluation->accuracy : summary_.evaluation->loss;
    const bool better = options_.judge.by_accuracy ? value > best_so_far.best : value < best_so_far.best;
    best_so_far.judged_step = step;
    ++best_so_far.stale;
    if (better || best_so_far.best_step == 0) best_so_far = {.best = value, .best_step = step, .judged_step = step};
    trainer_.set_best_so_far(best_so_far);
    return best_so_far.best_step == step && !options_.judge.best.empty() ? trainer_.save(options_.judge.best)
                                                                         : Result<void>{};
  }

  // A checkpoint written by the last step of an epoch does not know the evaluation that followed.
  Result<void> catch_up() {
    if (!options_.judge.judges() || trainer_.steps_done() == 0 || trainer_.steps_done() % per_epoch_ != 0) return {};
    if (trainer_.best_so_far().judged_step == trainer_.steps_done()) return {};
    PANTOUM_TRY(evaluate());
    return summary_.interrupted ? Result<void>{} : judge();
  }

  bool patience_is_over() {
    summary_.stopped_early = options_.judge.patience > 0 && trainer_.best_so_far().stale >= options_.judge.patience;
    return summary_.stopped_early;
  }

  Result<void> finish() {
    tell_of_steps(false);
    const bool kept = stopped();
    if (kept) PANTOUM_TRY(checkpoint(trainer_.steps_done() / per_epoch_));
    if (!summary_.interrupted) PANTOUM_TRY(evaluate());
    if (!summary_.interrupted) return {};
    if (last_evaluated_ != trainer_.steps_done()) summary_.evaluation.reset();
    return kept ? Result<void>{} : checkpoint(trainer_.steps_done() / per_epoch_);
  }
};

}  // namespace

namespace {

// Before the first step: a run that would end at its first checkpoint does not begin.
Result<void> check_files(const RunOptions& options) {
  const std::string &checkpoint = options.checkpoint, &best = options.judge.best;
  for (const std::string& path : {checkpoint, checkpoint.empty() ? "" : previous_checkpoint(checkpoint), best})
    if (!path.empty()) PANTOUM_TRY(base::check_no_input(path));
  if (!checkpoint.empty() && !best.empty() && !base::is_special_file(best) &&
      base::identity_of_file(checkpoint) == base::identity_of_file(best))
    return fail("E0125", "the checkpoint and the best weights are one file", best, "give each a file of its own");
  return {};
}

}  // namespace

Result<RunSummary> run_training(Trainer& trainer, const ProducedData& data, const RunOptions& options) {
  PANTOUM_TRY(check_files(options));
  if (data.steps_per_epoch == 0 || !data.produce)
    return fail("E0120", "an epoch of no steps", {}, "give a producer and the number of its steps");
  return Run(trainer, data, options).go();
}

Result<void> check_length(int64_t batch, int64_t samples, uint64_t epochs) {
  if (samples < batch)
    return fail("E0262", fmt::format("the data hold {} samples, fewer than a batch of {}", samples, batch), {},
                "use a smaller --batch or more data");
  if (samples > int64_t{UINT32_MAX})
    return fail("E0262", fmt::format("{} samples are more than 2^32", samples), {}, "split the data");
  return check_steps(static_cast<uint64_t>(samples / batch), epochs);
}

// A loss that is not finite may be the data's fault: then the sample is named.
Failure with_sample(Error error, const data::Dataset& data) {
  if (error.code != "E0701") return Failure(std::move(error));
  if (const Result<void> finite = data::check_finite(data); !finite && finite.error().code == "E0262") {
    error.message = error.message.substr(0, error.message.find(':')) + ": " + finite.error().message;
    error.where = finite.error().where;
    error.help = "clean the data, and go on from the last checkpoint: this step has spoilt the parameters in RAM";
  }
  return Failure(std::move(error));
}

Result<RunSummary> run_training(Trainer& trainer, const data::TrainTest& data, const RunOptions& options) {
  const int64_t count = data.train.count(), batch = trainer.batch();
  PANTOUM_TRY(check_length(batch, count, options.epochs));
  std::vector<uint32_t> own_indices;
  std::span<uint32_t> indices = options.indices;
  if (indices.size() != static_cast<size_t>(count)) {
    own_indices.resize(static_cast<size_t>(count));
    indices = own_indices;
  }
  PANTOUM_ASSIGN(data::BatchProducer produce, trainer.epochs_of(data.train, indices));
  Result<RunSummary> ran = run_training(trainer,
                                        {.produce = std::move(produce),
                                         .steps_per_epoch = static_cast<uint64_t>(count / batch),
                                         .test = &data.test,
                                         .samples = count},
                                        options);
  if (!ran) return with_sample(std::move(ran).error(), data.train);
  return ran;
}

}  // namespace pantoum::train
