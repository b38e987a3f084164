// Runs training steps from a binary plan: batches, epochs, evaluation, checkpoints.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "data/batch.h"
#include "data/dataset.h"
#include "data/preparation.h"
#include "host/engine.h"
#include "pantoum/pantoum.h"
#include "pantoum/trainer.hpp"
#include "train/schedule.h"
#include "train/tensor_table.h"
#include "weights/safetensors.h"

namespace pantoum::train {

// Tells when each gradient of a step is final, while the program that makes them still runs.

// `sum` is one of TensorTable::sums; `data` is all of it, or empty where it lives in storage. What is written there
// lasts until the update. Called on the trainer's thread, between two instructions; must not throw.
using OnGradient = std::function<void(const PlanTensor& sum, std::span<std::byte> data)>;

// Runs a program and calls back with each sum as soon as the program neither writes nor reads it any more. Sums in RAM come in the order of
// the program; those in storage, or read back from it, after the program.
class FinalGradients {
 public:
  // E0253 a program that the table's plan does not hold.
  [[nodiscard]] static Result<FinalGradients> of(const pt_plan& plan, uint32_t program,
                                                 const std::vector<PlanTensor>& sums);

  // `on_gradient` may be empty. Allocates nothing.
  [[nodiscard]] pt_status run(host::Engine& engine, const pt_scalars& scalars, const OnGradient& on_gradient);

 private:
  struct Event {
    uint32_t instruction;
    PlanTensor sum;
    std::span<std::byte> data = {};
  };
  void tell(uint32_t instruction);

  uint32_t program_ = 0;
  std::vector<Event> events_;  // in order
  size_t told_ = 0;
  const OnGradient* on_gradient_ = nullptr;
};

struct PlanTensor;
struct TensorTable;

// Of a group of parameters.
struct GroupRates {
  std::optional<double> lr;            // none: the trainer's
  std::optional<double> weight_decay;  // none: the one that the plan was made with

  bool operator==(const GroupRates&) const = default;
};

struct TrainerOptions {
  std::string
      page_file;  // folder or file where the page file is made; "": the system's temporary folder that allows O_DIRECT
  int threads = 0;                // 0: host::allowed_threads
  std::vector<int> engines = {};  // of host::EngineOptions, for a plan of several engines
  std::vector<std::vector<int>> engine_processors = {};  // the same
  int opencl_device = 0;          // the same
  bool direct_io = true;          // O_DIRECT; falls back, and says so, where the file system refuses it
  bool encrypt = true;            // page file and feature cache
  uint64_t seed = 0;
  double lr = 0.01;
  Schedule schedule = {};               // of lr, and of the groups' own
  std::vector<GroupRates> groups = {};  // by the plan's index; what is missing is none
  int64_t micro_batches = 1;            // a step takes so many batches; more than one: the plan has a program for it
  std::string plan_hash;                // kept in checkpoints; a resume with another model is refused
  const pt_kernel_table* kernels = nullptr;  // null: pt_portable_kernels()
  std::string kernel_name = {};              // KernelSet::name(), kept in checkpoints; "": not known
  std::string numerics = {};                 // as Progress has it: a resume of another is refused
  bool other_kernels = false;                // resume from other kernels: bits may differ from then on
  std::string data = {};                     // the training set's fingerprint (data/dataset.h); "": not known
  int64_t samples = 0;                       // of the training set; 0: not known
  const pt_pool* pool = nullptr;             // null: `threads` of the trainer's own; else the caller's (see KernelSet)
  std::vector<std::string>
      inputs;  // the model's inputs in its order; empty: told from the weights (see tensor_table.h)
  // Inputs of the plan's step that its program "features" makes of the model's inputs; empty: it has none.
  std::vector<std::string> features = {};
  int64_t prefetch = 0;  // batches that a feed makes ahead of their steps, beside the arena (batch_queue.h)
  data::Preparation preparation;
};

enum { kMaxLosses = 8 };

using pantoum::StepStats;

// The evaluation of one loss. A measure that was not taken is absent.
struct TermEvaluation {
  double loss = 0;  // weighted
  std::optional<double> accuracy, top5, mean_absolute_error;
};

struct Evaluation {
  double loss = 0, accuracy = 0;  // the weighted sum of all losses; of the first that has labels
  int64_t samples = 0;
  bool has_accuracy = false;  // false: no output has classes as labels
  size_t term_count = 0;
  std::array<TermEvaluation, kMaxLosses> terms = {};  // in the order of the losses
};

// How the evaluations of a run compare: kept in checkpoints, so that a resumed run judges as one that was not
// interrupted.
struct BestSoFar {
  double best = 0;           // of the measure that is watched
  uint64_t best_step = 0;    // after which it was reached; 0: nothing was judged yet
  uint64_t judged_step = 0;  // the last evaluation's
  uint64_t stale = 0;        // evaluations since the best
};

// Takes rows of tensors().outputs[output], whose first is of sample `first`. They are the arena's, and stay until the next call.
using OnRows = std::function<Result<void>(size_t output, int64_t first, std::span<const std::byte> rows)>;

struct Usage {                                                     // exact figures for the run log
  uint64_t arena_bytes = 0, rss_before_arena = 0, high_water = 0;  // bytes; high_water: the most since
  uint64_t queue_bytes = 0;                                        // of the batches made ahead
  uint64_t back_end_bytes = 0;  // what preparing the kernels for the plan's shapes left in RAM
  uint64_t bytes_paged_in = 0, bytes_paged_out = 0;
  uint64_t storage_bytes = 0;  // of the page file; 0: nothing is paged
  bool direct_io = false;
  std::string io_backend;         // "io_uring", "threads"; "": nothing is paged
  std::string cipher = "off";     // of what is paged out
  uint64_t encryption_bytes = 0;  // in RAM beside the arena: pages of the table of the page file's seals, and buffers
};

// The files of a data set that a prediction reads. E0262 the data have other inputs, or lack labels that an output is made of.
[[nodiscard]] Result<std::vector<const data::SampleFile*>> prediction_files(const TensorTable& table,
                                                                            const data::Dataset& data);

// Owns the arena, the page file, the session and the thread pool. Nothing is allocated by step() and evaluate().
class Trainer {
 public:
  // `plan` is a binary plan whose tensors are named as artifact::BinaryTensor says. Weights come from `weights` (by
  // name; every parameter, buffer and constant must be there with its shape: E0242 with all that are not; what the plan
  // does not know is left alone), optimizer state from there if present ("optim.*"), zeros otherwise. Everything but
  // the arena exists before RAM is measured (Usage::rss_before_arena). E0251, E0253 the plan; E0410 kernels; E0902,
  // E0904, E0908 page file; E0905 threads; E0906 arena.
  [[nodiscard]] static Result<std::unique_ptr<Trainer>> create(std::vector<std::byte> plan, const std::string& weights,
                                                               const TrainerOptions& options);
  virtual ~Trainer() = default;

  // Batches for the steps that follow, up to step `last`: made by `producer`, as many ahead as options.prefetch says.
  // It is called no more after end_feed(), a new feed, or the trainer's end. `samples`: of an epoch, for checkpoints.
  virtual void feed(data::BatchProducer producer, uint64_t last, int64_t samples) = 0;
  virtual void end_feed() = 0;
  // One step on the feed's next batches; what the producer refuses, and the errors of the other step().
  [[nodiscard]] virtual Result<StepStats> step() = 0;
  // A producer of epochs over `data`: whole batches, shuffled by (seed, epoch), augmented. `data` and `indices` (as
  // many as samples: room for an epoch's order) outlive it. Ask after a resume, which may change the seed. E0262 as
  // step().
  [[nodiscard]] virtual Result<data::BatchProducer> epochs_of(const data::Dataset& data,
                                                              std::span<uint32_t> indices) = 0;

  // Runs the frozen backbone once on every sample of `data` and keeps what it gives, for steps on that in place of
  // `data`, which outlives it. The file is made in `folder` ("": where page files are), and removed with the data set.
  // E0105 the plan has no program "features"; E0262, E0260, E0903 as step(); E0901, E0902, E0908 the file; E0999 `stop`.
  [[nodiscard]] virtual Result<data::Dataset> make_features(const data::Dataset& data, const std::string& folder,
                                                            std::stop_token stop) = 0;

  // One step on samples chosen by `indices` (batch() of them), not augmented. With micro-batches, all but the last add
  // their gradients up, and the loss is the mean of theirs; each has dropout masks of its own. E0260 a sample cannot be
  // read; E0262 data do not fit the model's inputs, or a label is out of range; E0903 paging failed; E0701 the loss is
  // not finite (the parameters have been updated with it: go back to the last checkpoint). After E0903 and an E0262 of
  // a label, every later call fails.
  [[nodiscard]] virtual Result<StepStats> step(const data::Dataset& data, std::span<const uint32_t> indices) = 0;
  // Where the plan has the update apart (autodiff::TrainingOptions::split_update): a step in two halves. The first makes
  // the gradients of the feed's next batches, summed over micro-batches, in the tensors tensors().sums, and tells
  // `on_gradient` of each as it becomes final. The second makes the step of what is there then, which the caller may
  // have changed; called without the first since the last step: E0105. The first called again begins again. E0105 the
  // plan has no such programs; the errors of step(). E0701 leaves the parameters as they were.
  [[nodiscard]] virtual Result<StepStats> gradients(const OnGradient& on_gradient) = 0;
  [[nodiscard]] virtual Result<StepStats> update() = 0;
  // Every sample once, in order; a short last batch is padded and masked, or (targets that cannot be masked) its
  // padding's loss is measured by one run more and taken off. Loss and accuracy are means over labels that are not
  // ignored. `go_on`, where there is one, is asked before every batch: false ends it. E0105 the plan has no program
  // "eval"; E0262 no samples; E0999 it was ended; as step().
  [[nodiscard]] virtual Result<Evaluation> evaluate(const data::Dataset& data,
                                                    const std::function<bool()>& go_on = {}) = 0;
  // The model's outputs for every sample once, in order, as evaluation makes them: `files`, as many samples in each, are what
  // tensors().prediction_reads names. A short last batch is filled up with its first sample, and the rows of that are not given. `go_on` as
  // above. What `take` refuses ends it. E0105 the plan has no program "predict"; as evaluate().
  [[nodiscard]] virtual Result<void> predict(std::span<const data::SampleFile* const> files, const OnRows& take,
                                             const std::function<bool()>& go_on = {}) = 0;
  // Parameters, buffers, constants, optim.*; metadata step, seed, lr, schedule, groups, best, best_step, judged_step, stale,
  // plan_hash, batch, micro_batches, shuffle, samples, data, kernels, threads, thread_independent, epoch, position, and
  // sums. Atomic; `kept`: the new name of the file at `path` ("": that file is replaced). Memory: the header and 64 KiB.
  // E0901, E0903.
  [[nodiscard]] virtual Result<void> save(const std::string& path, const std::string& kept = "") = 0;
  // Restores tensors, step, seed, lr, schedule and groups bit for bit. E0243 no resume point, or of another model, plan, data
  // set or of other kernels; E0240, E0244 damaged (nothing is changed then).
  [[nodiscard]] virtual Result<void> resume(const std::string& path) = 0;
  // Begins again with other weights, as create() takes them: step 0. E0240 to E0244 (nothing is changed then); E0903.
  [[nodiscard]] virtual Result<void> load(const std::string& weights) = 0;
  // Goes on behind step `step` with the optimizer state in `file` ("optim.NAME.PARAMETER"), or with a new one where it has none. Weights stay. E0116 more
  // steps than a run has; E0242 the state is of another optimizer, or of other shapes (nothing is changed then); E0241, E0903.
  [[nodiscard]] virtual Result<void> take_state(const weights::SafetensorFile& file, uint64_t step) = 0;
  // E0108 this process was forked from the one that made the trainer: every call that can fail fails so, in place of waiting for threads that
  // are not there. The trainer may be destroyed.
  [[nodiscard]] virtual Result<void> own_process() const = 0;
  // What the plan holds.
  [[nodiscard]] virtual const TensorTable& tensors() const = 0;
  // Copies all of a weight or state of tensors() out or in, between steps, wherever it lives; as many bytes as it has.
  // E0903.
  [[nodiscard]] virtual Result<void> read(const PlanTensor& tensor, std::span<std::byte> data) = 0;
  [[nodiscard]] virtual Result<void> write(const PlanTensor& tensor, std::span<const std::byte> data) = 0;
  // Its bytes in the arena, until the next run; empty where it lives in storage.
  [[nodiscard]] virtual std::span<std::byte> view(const PlanTensor& tensor) = 0;
  [[nodiscard]] virtual uint64_t steps_done() const = 0;
  [[nodiscard]] virtual int64_t batch() const = 0;  // samples of a step: those of all micro-batches
  [[nodiscard]] virtual uint64_t seed() const = 0;  // of the options, or of the resume point
  [[nodiscard]] virtual Usage usage() const = 0;
  // Returns the seconds that steps have waited for their batches so far: reading, preparing, or a thread that does.
  [[nodiscard]] virtual double batch_seconds() const = 0;
  virtual void set_lr(double lr) = 0;  // of what is in no group with a rate of its own
  // Of the plan's groups of parameters, by their index. Set between steps.
  [[nodiscard]] virtual const std::vector<GroupRates>& groups() const = 0;
  virtual void set_group(size_t group, const GroupRates& rates) = 0;
  // Sets the number of steps of the whole training, which schedules and shares refer to. 0: not known.
  virtual void set_total_steps(uint64_t steps) = 0;
  [[nodiscard]] virtual BestSoFar best_so_far() const = 0;
  virtual void set_best_so_far(const BestSoFar& best_so_far) = 0;
};

}  // namespace pantoum::train
