// Weights and resume points: safetensors files to and from the session's tensors, piece by piece.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/engine.h"
#include "train/schedule.h"
#include "train/tensor_table.h"
#include "train/trainer.h"
#include "weights/safetensors.h"

namespace pantoum::train {

// The most steps of a run. At a microsecond each they would take three decades.
inline constexpr uint64_t kMostSteps = 1'000'000'000'000'000;

// The contents of a resume point other than tensors.
struct Progress {
  uint64_t step = 0, seed = 0;
  double lr = 0;
  Schedule schedule;
  std::vector<GroupRates> groups;  // of parameters, by the plan's index
  BestSoFar best_so_far;
  std::string plan_hash;
  int64_t batch = 0, micro_batches = 1;  // batches of a step
  bool shuffle = true;
  int64_t samples = 0;   // of an epoch's data set; 0: none yet
  std::string data;      // the data set's fingerprint; "": not known
  std::string kernels;   // of the run, as KernelSet names them; "": not known
  std::string numerics;  // what the bits depend on beside the kernels (pipeline/planned_step.h); not interpreted here
  int threads = 0;       // that computed; 0: not known
};

// These kernels give the same bits with any number of threads.
[[nodiscard]] bool is_thread_independent(const std::string& kernels);

// Epochs of a run's steps.
struct EpochPlace {
  uint64_t epoch = 0, position = 0;  // steps done in it
};
[[nodiscard]] EpochPlace place_of(const Progress& progress);

// The source of tensors. The plan's initial weights contain every weight and constant; a resume point contains every weight and state; a file of
// weights contains every weight. Constants belong to the plan, and no other file changes them.
enum class Source { kPlan, kResumePoint, kWeights };

// Checks that the file has the tensors that `source` asks for with their shapes and types; states that are there must fit in any case. The
// error has the code `code` and names every tensor that is missing or does not fit.
[[nodiscard]] Result<void> check_tensors(const weights::SafetensorFile& file, const TensorTable& table, Source source,
                                         const char* code);

// E0243: the resume point is of another model than these weights (with the tensors that tell it), or of another optimizer than these states
// ("optim.KIND.PARAMETER"). `all`: the model has no other weights, so that a name that is not among them is of another one.
[[nodiscard]] Result<void> check_same_model(const weights::SafetensorFile& file, const std::vector<PlanTensor>& weights,
                                            const std::vector<std::string>& states, bool all);

// Copies checked tensors into the session, and records which of them are finite. States that the file lacks, and sums, become zeros. `piece`: the
// buffer for copying. E0241, E0903.
[[nodiscard]] Result<void> load_tensors(const weights::SafetensorFile& file, TensorTable& table, host::Engine& engine,
                                        Source source, std::span<std::byte> piece);

// The same of the optimizer's states alone.
[[nodiscard]] Result<void> load_states(const weights::SafetensorFile& file, TensorTable& table, host::Engine& engine,
                                       std::span<std::byte> piece);

// Makes the sums of gradients zero. E0903.
[[nodiscard]] Result<void> clear_sums(const TensorTable& table, host::Engine& engine, std::span<std::byte> piece);

// Atomic. `kept`: the new name of the file that stands at `path`; "": that file is replaced. `piece`: as in write_safetensors. E0701 a step made a weight or state that is
// not finite: the file that stands at `path` stays. E0901, E0903.
[[nodiscard]] Result<void> save_checkpoint(const std::string& path, const TensorTable& table, host::Engine& engine,
                                           const Progress& progress, const std::string& kept,
                                           std::span<std::byte> piece);

// E0243: the file has no sums, or its metadata are missing, contradictory or impossible for a run.
[[nodiscard]] Result<Progress> read_progress(const weights::SafetensorFile& file);

// Finds the checkpoint to resume from. A run keeps two: the newest, and beside it the one before.

// The path of the checkpoint before the one at `path`: `path`.previous.
[[nodiscard]] std::string previous_checkpoint(const std::string& path);

struct ResumePoint {
  std::string path;  // the file is complete: all checksums match
  Progress progress;
  std::optional<Error> damaged;  // what is wrong with the newest one, where `path` is the one before
};

// The newest checkpoint that is whole: `path`, or the one before where `path` is damaged or gone. Memory: the header and 64 KiB.
//   errors  where neither can be used, with what is wrong with both in the notes: E0201, E0240, E0241, E0244 damaged; E0243 it is no resume
//           point
[[nodiscard]] Result<ResumePoint> find_resume_point(const std::string& path);

}  // namespace pantoum::train
