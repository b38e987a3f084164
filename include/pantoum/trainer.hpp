// Training a plan: steps, epochs, evaluation, checkpoints, weights.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "pantoum/data.hpp"
#include "pantoum/export.h"
#include "pantoum/plan.hpp"
#include "pantoum/result.hpp"

namespace pantoum {

struct Normalization {  // bytes x -> (x / 255 - mean) / deviation; floats x -> (x - mean) / deviation
  float mean = 0, deviation = 1;
};

struct TrainerOptions {
  std::string weights = {};    // safetensors to begin with; "": the model's own
  std::string page_file = {};  // folder or file for what is paged out; "": the system's temporary folder
  bool encrypt_pages = true;
  bool direct_io = true;
  uint64_t seed = 0;                          // shuffling and dropout
  std::optional<double> lr = {};              // in place of the optimizer's
  std::string schedule = {};                  // "cosine,to=1e-5,warmup=5%", as --schedule has it; "": constant
  std::vector<Normalization> normalize = {};  // once, or once for each channel; empty: bytes scaled to 0..1
  bool shuffle = true, flip = false, flip_vertically = false;
  int64_t crop = 0;  // pixels
  int64_t prefetch = 0;
};

struct StepStats {
  uint64_t step = 0;  // 1 for the first
  double loss = 0, lr = 0;
};

struct Evaluation {
  double loss = 0;
  std::optional<double> accuracy, top5, mean_absolute_error;  // of the first loss; shares of 1
  std::vector<double> losses;                                 // each loss, weighted
  int64_t samples = 0;
};

struct FitProgress {
  uint64_t step = 0, total_steps = 0, epoch = 0;  // epoch: from 0
  double loss = 0, lr = 0, samples_per_s = 0, seconds = 0;
};

struct EpochStats {
  uint64_t epoch = 0, step = 0;
  double mean_loss = 0;
  std::optional<Evaluation> evaluation;
  bool best = false;
};

struct FitOptions {
  uint64_t epochs = 1;            // in all, those before a resume included
  uint64_t steps_per_epoch = 0;   // of a Producer
  std::string checkpoint = {};    // where the newest is written, the one before as NAME.previous; "": none
  uint64_t checkpoint_every = 0;  // steps; 0: only when stopped or out of time
  std::string keep_best = {};     // a checkpoint of the best evaluation
  uint64_t patience = 0;          // end after so many epochs without a better one; 0: never
  bool judge_by_accuracy = false;
  Seconds max_time = Seconds(0);                        // 0: no limit
  std::stop_token stop = {};                            // asked between steps, and between batches of an evaluation
  std::function<void(const StepStats&)> on_batch = {};  // after every step
  std::function<void(const EpochStats&)> on_epoch = {};
  std::function<void()> on_evaluated = {};                   // before every batch of an evaluation
  std::function<void(const FitProgress&)> on_progress = {};  // at most ten times a second, and after the last step
};

struct FitSummary {
  uint64_t steps = 0, ran = 0;  // in all; of this call
  double loss = 0, seconds = 0;
  std::optional<Evaluation> evaluation;
  bool stopped = false, out_of_time = false, stopped_early = false;
  std::string checkpoint;  // the last one written
};

struct Usage {  // exact
  uint64_t arena_bytes = 0, steps = 0, bytes_paged_in = 0, bytes_paged_out = 0;
  std::string io_backend, page_encryption;
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  bool is_state = false;     // of the optimizer
  bool in_ram = false;       // between steps
  bool is_gradient = false;  // "accumulated.<parameter>"
  bool changes = false;      // a step puts another in its place: not what is frozen
};

// A gradient that nothing of the step will write or read any more before Trainer::update. `gradient.data` is empty where
// it lives in storage (read() and write() reach it between calls); else another thread may change it until then.
using OnGradient = std::function<void(const TensorView& gradient)>;

// One training: its arena, its page file, its threads. Used by one thread at a time; several in one process are
// independent of each other. Movable; one that was moved from can only be assigned to, or destroyed. step() and evaluate()
// allocate nothing.
class PANTOUM_API Trainer {
 public:
  // E0902, E0904, E0908 the page file, E0905 threads, E0906 the arena, E024x weights.
  [[nodiscard]] static Result<Trainer> create(const Plan& plan, const TrainerOptions& options = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // One step on samples_per_step() samples. E0262 they do not fit, or a label is out of range; E0701 the loss is not
  // finite: the parameters are spoilt, go back to a checkpoint; E0903 storage. A batch that does not fit changes nothing.
  [[nodiscard]] Result<StepStats> step(const Batch& batch);
  // With ModelOptions::split_update, a step in two halves. The first makes the gradients of samples_per_step() samples,
  // summed over micro-batches, as tensors "accumulated.<parameter>"; it calls `on_gradient` on this thread for each in
  // the order in which they become final, those in RAM while backward goes on. The second clips, updates and counts the
  // step, by what is there then: several machines may have put the mean of theirs in its place. The first called again
  // begins again. E0105 a plan without these programs, an update without gradients; E0107 `on_gradient` threw; E0701
  // the loss is not finite: the parameters are as they were; else as step().
  [[nodiscard]] Result<StepStats> gradients(const Batch& batch, const OnGradient& on_gradient = {});
  [[nodiscard]] Result<StepStats> update();
  // Epochs over shuffled samples; goes on where steps_done() says. When stopped, a checkpoint is written if one is named.
  [[nodiscard]] Result<FitSummary> fit(const Dataset& train, const FitOptions& options = {}, const Dataset& test = {});
  [[nodiscard]] Result<FitSummary> fit(Producer producer, const FitOptions& options, const Dataset& test = {});
  // Every sample once. `go_on`, where there is one, is asked before every batch; false ends it with E0999.
  [[nodiscard]] Result<Evaluation> evaluate(const Dataset& data, const std::function<bool()>& go_on = {});

  // Weights (and optimizer state, step, seed: a checkpoint is a file of weights) as safetensors; atomic.
  [[nodiscard]] Result<void> save(const std::string& path);
  // E0243 of another model, plan or data set; E0240, E0244 damaged: nothing is changed then.
  [[nodiscard]] Result<void> resume(const std::string& path);

  // Parameters, statistics, optimizer state, and with split_update gradients, by name. A view of the arena, without a copy: valid until the next step,
  // evaluation or the end. E0104 no such tensor; E0105 it lives in storage: use read().
  [[nodiscard]] Result<TensorView> tensor(const std::string& name);
  // Copies all elements, wherever the tensor lives. E0262 `data` has another size.
  [[nodiscard]] Result<void> read(const std::string& name, std::span<std::byte> data);
  [[nodiscard]] Result<void> write(const std::string& name, std::span<const std::byte> data);
  [[nodiscard]] std::vector<TensorInfo> tensors() const;

  [[nodiscard]] uint64_t steps_done() const;
  [[nodiscard]] int64_t samples_per_step() const;
  [[nodiscard]] Result<void> set_learning_rate(double lr);  // E0116 negative, or not finite
  [[nodiscard]] Usage usage() const;

 private:
  struct Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pantoum
