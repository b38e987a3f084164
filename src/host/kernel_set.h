// The kernels of a run: the portable ones, before them those of a fast back end where one is wanted and found, and behind
// them those of custom operators that the process knows by then.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/thread_pool.h"
#include "kernels/back_end.h"

namespace pantoum::host {

// Threads and a kernel table, made once, and used by planning, measuring and training. A back end is a shared object of this version of
// Pantoum. It is looked for in the folders that PANTOUM_BACKENDS names, and there alone; without that variable beside this code, where
// it is installed relative to this code, where the loader looks, and where systems keep it (lib/pantoum). It is never unloaded.
class KernelSet {
 public:
  enum class Choice : uint8_t { kAuto, kPortable, kOneDnn };  // kAuto: oneDNN where it can be loaded

  // `threads` in all; 0: as many as this process may run on. E0411 the back end that was asked for cannot be loaded,
  // with why, or computes with another number of threads in this process; E0905.
  static Result<std::shared_ptr<const KernelSet>> open(Choice choice, int threads);
  KernelSet(const KernelSet&) = delete;
  KernelSet& operator=(const KernelSet&) = delete;

  const pt_kernel_table* table() const { return &table_; }
  const pt_pool* pool() const { return pool_; }
  const pt_back_end* back_end() const { return back_end_; }  // null: the portable kernels alone
  // Why kAuto found no back end, and where it looked, if this build has one. Otherwise empty.
  const std::optional<Error>& lack() const { return lack_; }
  // Held while a step runs, where several threads train at a time: with a back end, whose threads and primitives all share, one step runs
  // after the other. (Steps side by side would wait for each other at every kernel.)
  std::unique_lock<std::mutex> turn() const;
  std::string name() const { return back_end_ != nullptr ? back_end_->name : "portable"; }

 private:
  KernelSet() = default;
  void append(const pt_kernel_table& kernels);

  const pt_back_end* back_end_ = nullptr;
  std::shared_ptr<const void> shared_;  // the back end is in use
  std::optional<Error> lack_;
  std::vector<pt_kernel> rows_;
  pt_kernel_table table_{};
  std::unique_ptr<ThreadPool> own_pool_;
  const pt_pool* pool_ = nullptr;
};

}  // namespace pantoum::host
