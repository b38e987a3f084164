// A whole training run: epochs over shuffled samples, evaluation, checkpoints, interruption.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "data/dataset.h"
#include "train/trainer.h"

namespace pantoum::train {

struct RunEvent {
  enum class Kind : uint8_t { kEpoch, kCheckpoint } kind{};
  uint64_t step = 0, epoch = 0;          // kEpoch: the epoch that ended
  double mean_loss = 0;                  // kEpoch: over the epoch's steps of this run
  std::optional<Evaluation> evaluation;  // kEpoch
  bool best = false;                     // kEpoch: the best evaluation so far
  double seconds = 0;
};

// The actions if evaluations improve, or stop improving.
struct JudgeOptions {
  bool by_accuracy = false;  // false: judge by the loss
  uint64_t patience = 0;     // the run ends after this many epochs without improvement; 0: never
  std::string best;          // file for the resume point of the best evaluation; "": none
  [[nodiscard]] bool judges() const { return patience > 0 || !best.empty(); }
};

// Batches that a function makes, in place of a data set.
struct ProducedData {
  data::BatchProducer produce;
  uint64_t steps_per_epoch = 0;
  const data::Dataset* test = nullptr;  // outlives the run; null: no evaluation
  int64_t samples = 0;                  // of an epoch, for checkpoints; 0: those of its steps
};

// The file at the path of the checkpoints when a run begins.
enum class OldCheckpoint : uint8_t {
  kForeign,  // no file, or one of another run: the first checkpoint replaces it, and the one before it is removed
  kOwn,      // the file from which this run was resumed: it becomes the one before
  kDamaged   // damaged, so this run was resumed from the one before, which stays
};

struct RunOptions {
  uint64_t epochs = 1;            // in all, those before a resume included
  uint64_t checkpoint_every = 0;  // steps; 0: only when interrupted or out of time
  std::string checkpoint;         // where the newest is, and the one before (checkpoint.h); "": none is written
  OldCheckpoint old_checkpoint = OldCheckpoint::kForeign;
  JudgeOptions judge = {};
  double max_seconds = 0;  // 0: no limit; when it is over: a checkpoint, a last evaluation, the end
  std::function<void(const FitProgress&)> progress;  // after every step
  std::function<void(const RunEvent&)> log;
  std::function<void()> on_evaluated;  // before every batch of an evaluation
  // Before a step that follows something else (true), and before something else that follows steps (false): an
  // evaluation, a checkpoint, the end.
  std::function<void(bool)> on_steps;
  std::stop_token stop;  // tested between steps, and between batches of an evaluation
  std::span<uint32_t>
      indices;  // data.train.count() of them, the caller's (touched before the arena is measured); empty: made here
};

struct RunSummary {
  uint64_t steps = 0;  // done, those before a resume included
  uint64_t ran = 0;    // by this run
  double loss = 0;     // of the last step
  std::optional<Evaluation>
      evaluation;  // of the parameters as they are now; none when interrupted or without test data
  bool interrupted = false, out_of_time = false;
  bool stopped_early = false;  // patience was over
  std::string checkpoint;      // the last one written; "": none
  double seconds = 0;
  double step_seconds = 0;  // of `seconds`: in steps, without their batches, evaluations and checkpoints
};

// What a run on so many samples, in steps of `batch` of them, refuses before its first step: E0262 fewer of them than a batch, or more than 2^32; E0120
// more steps than can be counted.
[[nodiscard]] Result<void> check_length(int64_t batch, int64_t samples, uint64_t epochs);

// Trains from step trainer.steps_done() on: epoch = steps / (samples / batch), and the remainder is the position in the epoch. Every
// epoch drops its short last batch. The order of an epoch depends on (seed, epoch) alone and checkpoints are atomic, so
// that a run that is killed at any time and resumed ends with the parameters of the run that was not. Errors of step()
// carry the last checkpoint in their notes. E0262: fewer samples than a batch, or more than 2^32; or there is no evaluation to judge by.
[[nodiscard]] Result<RunSummary> run_training(Trainer& trainer, const data::TrainTest& data, const RunOptions& options);

// The same on batches that a function makes; a resumed run equals the one that was not if they follow from the step.
// E0120 an epoch of no steps.
[[nodiscard]] Result<RunSummary> run_training(Trainer& trainer, const ProducedData& data, const RunOptions& options);

}  // namespace pantoum::train
