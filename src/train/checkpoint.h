// Weights and resume points: safetensors files to and from the session's tensors, piece by piece.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "host/engine.h"
#include "train/schedule.h"
#include "train/tensor_table.h"
#include "train/trainer.h"
#include "weights/safetensors.h"

namespace pantoum::train {

// No run has more: a microsecond each, these take three decades.
inline constexpr uint64_t kMostSteps = 1'000'000'000'000'000;

// What a resume point holds beside tensors.
struct Progress {
  uint64_t step = 0, seed = 0;
  double lr = 0;
  Schedule schedule;
  BestSoFar best_so_far;
  std::string plan_hash;
  int64_t batch = 0, micro_batches = 1;  // a step is on so many batches
  bool shuffle = true;
  int64_t samples = 0;   // of an epoch's data set; 0: none yet
  std::string data;      // the data set's fingerprint; "": not known
  std::string kernels;   // of the run, as KernelSet names them; "": not known
  std::string numerics;  // what its bits follow from beside the kernels (pipeline/numerics.h), opaque here; "": nothing
  int threads = 0;       // that computed; 0: not known
};

// These kernels give the same bits with any number of threads.
[[nodiscard]] bool is_thread_independent(const std::string& kernels);

// Epochs of a run's steps.
struct EpochPlace {
  uint64_t epoch = 0, position = 0;  // steps done in it
};
[[nodiscard]] EpochPlace place_of(const Progress& progress);

// `code` with all that is missing or of another shape or type, unless every weight (and, with `states_too`, every
// state) is in the file; states that are there must fit in any case.
[[nodiscard]] Result<void> check_tensors(const weights::SafetensorFile& file, const TensorTable& table, bool states_too,
                                         const char* code);

// Copies checked tensors into the session; states that the file lacks become zeros, as sums do. `piece`: the buffer
// between. E0241, E0903.
[[nodiscard]] Result<void> load_tensors(const weights::SafetensorFile& file, const TensorTable& table,
                                        host::Engine& engine, std::span<std::byte> piece);

// Makes the sums of gradients zero. E0903.
[[nodiscard]] Result<void> clear_sums(const TensorTable& table, host::Engine& engine, std::span<std::byte> piece);

// Atomic. `kept`: the new name of the file that stands at `path`; "": it goes. E0901, E0903.
[[nodiscard]] Result<void> save_checkpoint(const std::string& path, const TensorTable& table, host::Engine& engine,
                                           const Progress& progress, const std::string& kept = "");

// E0243 where the file has no sums, or its metadata are missing, contradict each other or say what no run can have.
[[nodiscard]] Result<Progress> read_progress(const weights::SafetensorFile& file);

}  // namespace pantoum::train
