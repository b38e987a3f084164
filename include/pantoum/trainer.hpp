// Trains by a plan: steps, epochs, evaluation, checkpoints, weights.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
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

// Random changes of training images.
struct Augmentation {
  bool flip = false, flip_vertically = false;
  int64_t crop = 0;
  [[nodiscard]] bool any() const { return flip || flip_vertically || crop > 0; }
};
template <class Visitor>
void describe(Visitor& v, Augmentation& augment) {
  v.field(augment.flip, {.name = "flip", .help = "mirror half of the images, left to right"});
  v.field(augment.flip_vertically, {.name = "flip_vertically", .help = "mirror half of the images, top to bottom"});
  v.field(augment.crop, {.name = "crop", .help = "most pixels by which an image is moved", .unit = "pixels",
                         .least = 0, .most = 65536});
}

// The settings of every step of a run.
struct TrainerOptions {
  std::optional<std::string> weights = {};  // safetensors file with the first weights
  std::optional<std::string> page_file = {};
  bool page_encryption = true;
  bool direct_io = true;
  uint64_t seed = 0;
  std::optional<double> lr = {};              // in place of the optimizer's learning rate
  std::string schedule = "constant";
  std::vector<Normalization> normalize = {};  // one, or one for each channel; empty: bytes are scaled to 0..1
  Augmentation augment = {};
  bool shuffle = true;
  int64_t prefetch = 0;
};

template <class Visitor>
void describe(Visitor& v, TrainerOptions& o) {
  using enum Shown;
  v.group("data");
  v.field(o.normalize, {.name = "normalize", .help = "MEAN,DEVIATION of byte inputs scaled to 0..1, or of float "
                                                     "inputs; once, or once for each channel",
                        .option = "--normalize", .shown = common, .recorded = false});
  v.field(o.augment, {.name = "augment", .help = "random changes of training images", .option = "--augment",
                      .recorded = false, .list = true});
  v.field(o.shuffle, {.name = "shuffle", .help = "off: every epoch has the data's own order", .option = "--shuffle",
                      .recorded = false});
  v.field(o.prefetch, {.name = "prefetch", .help = "batches made ahead on a thread of their own, inside the RAM budget",
                       .option = "--prefetch", .least = 0, .most = 64, .recorded = false});
  v.group("training");
  v.field(o.seed, {.name = "seed", .help = "random seed for shuffling and dropout", .option = "--seed",
                   .shown = common, .recorded = false});
  v.field(o.schedule, {.name = "schedule",
                       .help = "learning rate over the training: constant; step,every=N[,gamma=G]; "
                               "multi_step,at=N:N..[,gamma=G] or [,to=LR:LR..]; exponential,gamma=G; "
                               "cosine[,to=LR][,every=N]; linear[,to=LR][,over=N]; "
                               "each [,warmup=N]; N is a number of steps, or 30% of all",
                       .option = "--schedule", .recorded = false});
  v.group("device");
  v.field(o.page_file, {.name = "page_file", .help = "folder or file for what is paged out", .option = "--page-file",
                        .otherwise = "the system's folder for temporary files", .holds = Holds::page_folder,
                        .recorded = false});
  v.field(o.page_encryption, {.name = "page_encryption", .help = "encryption of what is paged out",
                              .option = "--page-encryption", .recorded = false});
  v.field(o.direct_io, {.name = "direct_io", .help = "page past the system's cache where the file system allows it",
                        .option = "--direct-io", .recorded = false});
}

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

// The figure that decides which evaluation is better: a lower loss, or a higher accuracy.
enum class Judge : uint8_t { loss, accuracy };
[[nodiscard]] constexpr std::array<const char*, 2> names_of(Judge) {
  return {"loss", "accuracy"};
}

// One run of a trainer over a data set.
struct FitOptions {
  uint64_t epochs = 1;
  std::optional<uint64_t> steps_per_epoch = {};  // of a Producer
  std::optional<std::string> checkpoint = {};    // file of the newest checkpoint; the one before is NAME.previous
  std::optional<uint64_t> checkpoint_every = {};
  std::optional<std::string> keep_best = {};
  std::optional<uint64_t> patience = {};
  Judge judge = Judge::loss;
  std::optional<Seconds> max_time = {};
  std::stop_token stop = {};                            // tested between steps, and between batches of an evaluation
  std::function<void(const StepStats&)> on_batch = {};  // after every step
  std::function<void(const EpochStats&)> on_epoch = {};
  std::function<void()> on_evaluated = {};                   // before every batch of an evaluation
  std::function<void(const FitProgress&)> on_progress = {};  // at most ten times a second, and after the last step
};

template <class Visitor>
void describe(Visitor& v, FitOptions& o) {
  using enum Shown;
  v.group("training");
  v.field(o.epochs, {.name = "epochs", .help = "passes over the training set, those before a resume included",
                     .option = "--epochs", .shown = common, .least = 1, .most = 1e15, .recorded = false});
  v.field(o.patience, {.name = "patience", .help = "end after so many epochs without a better evaluation",
                       .option = "--early-stop", .otherwise = "off", .least = 1, .most = 1e15, .recorded = false});
  v.field(o.judge, {.name = "judge", .help = "what makes an evaluation better: a lower loss, or a higher accuracy",
                    .option = "--judge", .recorded = false});
  v.field(o.max_time, {.name = "max_time", .help = "end after this time, with a checkpoint", .option = "--max-time",
                       .otherwise = "no limit", .least = 0, .above = true, .recorded = false});
  v.group("output");
  v.field(o.checkpoint, {.name = "checkpoint", .help = "file of the newest checkpoint; the one before it is kept as "
                                                       "NAME.previous",
                         .option = "--checkpoint", .shown = common, .otherwise = "OUTPUT.checkpoint",
                         .holds = Holds::output, .recorded = false});
  v.field(o.checkpoint_every, {.name = "checkpoint_every", .help = "steps between checkpoints",
                               .option = "--checkpoint-every", .otherwise = "only when interrupted", .least = 1,
                               .most = 1e15, .recorded = false});
  v.field(o.keep_best, {.name = "keep_best", .help = "file for a checkpoint of the best evaluation",
                        .option = "--keep-best", .holds = Holds::output, .recorded = false});
}

struct FitSummary {
  uint64_t steps = 0, ran = 0;  // steps: in all; ran: in this call
  double loss = 0, seconds = 0;
  std::optional<Evaluation> evaluation;
  bool stopped = false, out_of_time = false, stopped_early = false;
  std::string checkpoint;  // the last one written
};

struct Usage {  // exact
  uint64_t arena_bytes = 0, steps = 0, bytes_paged_in = 0, bytes_paged_out = 0;
  std::string io_backend, cipher;
  uint64_t rss_growth_bytes = 0;  // by how much RAM grew since the arena was new, arena included; batches of the prefetch too
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  bool is_state = false;     // of the optimizer
  bool in_ram = false;       // between steps
  bool is_gradient = false;  // "accumulated.<parameter>"
  bool changes = false;      // a step changes it; false for frozen tensors
};

// An output of a prediction: its rows, one behind the other.
struct Output {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;  // the first dimension counts samples
  std::vector<std::byte> bytes;
  template <class T>
  [[nodiscard]] std::vector<T> values() const {  // T: the element type of `dtype`
    std::vector<T> made(bytes.size() / sizeof(T));
    if (!made.empty()) std::memcpy(made.data(), bytes.data(), made.size() * sizeof(T));
    return made;
  }
};

// Takes rows of output `output` (its place in Trainer::outputs()), which begin with that of sample `first`. They are valid during the call.
using OnRows = std::function<Result<void>(size_t output, int64_t first, std::span<const std::byte> rows)>;

// A final gradient: the step does not read or write it again before Trainer::update. If the gradient is in storage, `gradient.data` is empty (between
// calls, use read() and write()); otherwise another thread may change its elements until Trainer::update.
using OnGradient = std::function<void(const TensorView& gradient)>;

// One training with its arena, page file and threads. Only one thread at a time may use a trainer; several trainers in one process are independent.
// Movable; a trainer that was moved from can only be assigned to or destroyed. step() and evaluate() allocate nothing.
class PANTOUM_API Trainer {
 public:
  // Errors: E0902, E0904, E0908: of the page file; E0905: of the threads; E0906: of the arena; E024x: of the weights.
  [[nodiscard]] static Result<Trainer> create(const Plan& plan, const TrainerOptions& options = {});
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // Runs one step on samples_per_step() samples. E0262: the samples do not fit (nothing is changed), or a label is out of range; E0701: the loss is
  // not finite, and the parameters are no longer usable: return to a checkpoint; E0903: the storage failed.
  [[nodiscard]] Result<StepStats> step(const Batch& batch);
  // With ModelOptions::split_update, gradients() and update() run a step in two halves. gradients() computes the gradients of samples_per_step()
  // samples, summed over micro-batches, as tensors "accumulated.<parameter>"; it calls `on_gradient` on this thread for each gradient as soon as the
  // gradient is final; for gradients in RAM, while backward still runs. update() clips the gradients that the tensors then contain, updates the
  // parameters and counts the step; before it, several machines may replace their gradients by the mean. A second call of gradients() starts again.
  // E0105: the plan does not have these programs, or update() is called without gradients; E0107: `on_gradient` threw; E0701: the loss is not finite,
  // and the parameters are unchanged; other errors: those of step().
  [[nodiscard]] Result<StepStats> gradients(const Batch& batch, const OnGradient& on_gradient = {});
  [[nodiscard]] Result<StepStats> update();
  // Trains for epochs over shuffled samples; continues after step steps_done(). When stopped, writes a checkpoint if one is named.
  [[nodiscard]] Result<FitSummary> fit(const Dataset& train, const FitOptions& options = {}, const Dataset& test = {});
  [[nodiscard]] Result<FitSummary> fit(Producer producer, const FitOptions& options, const Dataset& test = {});
  // Evaluates every sample once. If `go_on` is set, it is called before every batch; if it returns false, the evaluation ends with E0999.
  [[nodiscard]] Result<Evaluation> evaluate(const Dataset& data, const std::function<bool()>& go_on = {});

  // The tensors that a prediction reads, and those that it gives, in the model's order; as Plan::batch(), of one batch. Both are empty if the plan gives
  // no outputs.
  [[nodiscard]] std::vector<BatchTensor> prediction_inputs() const;
  [[nodiscard]] std::vector<BatchTensor> outputs() const;
  // Computes the model's outputs for any number of samples, as in evaluation: one array for each of prediction_inputs(). Changes nothing. The plan's
  // arena is all the RAM that it takes beside its answer. E0105: the plan gives no outputs (a plan of an earlier release, a model that gives its loss
  // alone, or outputs that do not fit the RAM); E0262: the arrays do not fit; E0903.
  [[nodiscard]] Result<std::vector<Output>> predict(const Batch& inputs);
  // The same into memory of the caller: for each of outputs() as many bytes as the samples take. E0262: another size. `go_on`: as of evaluate().
  [[nodiscard]] Result<void> predict(const Batch& inputs, std::span<const std::span<std::byte>> into,
                                     const std::function<bool()>& go_on = {});
  // The same for a data set: `take` gets rows as they are computed; its error ends the prediction.
  [[nodiscard]] Result<void> predict(const Dataset& data, const OnRows& take);

  // Writes weights, optimizer state, step and seed as safetensors, atomically. A checkpoint can be read as a file of weights.
  [[nodiscard]] Result<void> save(const std::string& path);
  // E0243: the checkpoint belongs to another model, plan or data set; E0240, E0244: it is damaged, and nothing is changed.
  [[nodiscard]] Result<void> resume(const std::string& path);

  // Parameters, statistics, optimizer state, and with split_update gradients, by name. Returns a view of the arena, without a copy: it is valid until
  // the next step or evaluation, or until the trainer is destroyed. E0104: there is no such tensor; E0105: the tensor is in storage: use read().
  [[nodiscard]] Result<TensorView> tensor(const std::string& name);
  // Copies all elements, whether the tensor is in RAM or in storage. E0262: `data` has another size.
  [[nodiscard]] Result<void> read(const std::string& name, std::span<std::byte> data);
  [[nodiscard]] Result<void> write(const std::string& name, std::span<const std::byte> data);
  [[nodiscard]] std::vector<TensorInfo> tensors() const;

  [[nodiscard]] uint64_t steps_done() const;
  [[nodiscard]] int64_t samples_per_step() const;
  [[nodiscard]] Result<void> set_learning_rate(double lr);  // E0116: `lr` is negative or not finite
  // Returns the groups of parameters that the model was planned with, in its order. Each has the values of the next steps: a rate before the
  // schedule's factor (none: the learning rate of all), a weight decay (none: the optimizer's).
  [[nodiscard]] std::vector<ParameterGroup> groups() const;
  // Errors: E0116: the value is negative or not finite; E0104: the model has no such group.
  [[nodiscard]] Result<void> set_group_rate(size_t group, double lr);
  [[nodiscard]] Result<void> set_group_decay(size_t group, double weight_decay);
  [[nodiscard]] Usage usage() const;

 private:
  struct Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pantoum
