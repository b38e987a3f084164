// The kernels of a run: the portable ones, and before them those of a fast back end where one is wanted and found.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "host/thread_pool.h"
#include "kernels/back_end.h"
#include "pantoum/result.h"

namespace pantoum::host {

// Threads and a kernel table, made once and used by planning, measuring and training alike. Back ends are shared
// objects beside this one (or where the system keeps its libraries); once loaded they stay.
class KernelSet {
 public:
  enum class Choice : uint8_t { kAuto, kPortable, kOneDnn };  // kAuto: oneDNN where it can be loaded

  // `threads` in all; 0: as many as this process may run on. E0411 the back end that was asked for cannot be loaded,
  // with why; E0905.
  [[nodiscard]] static Result<std::shared_ptr<const KernelSet>> open(Choice choice, int threads);
  KernelSet(const KernelSet&) = delete;
  KernelSet& operator=(const KernelSet&) = delete;

  [[nodiscard]] const pt_kernel_table* table() const { return &table_; }
  [[nodiscard]] const pt_pool* pool() const { return pool_; }
  [[nodiscard]] const pt_back_end* back_end() const { return back_end_; }  // null: the portable kernels alone
  [[nodiscard]] std::string name() const { return back_end_ != nullptr ? back_end_->name : "portable"; }

 private:
  KernelSet() = default;

  const pt_back_end* back_end_ = nullptr;
  std::vector<pt_kernel> rows_;
  pt_kernel_table table_{};
  std::unique_ptr<ThreadPool> own_pool_;
  const pt_pool* pool_ = nullptr;
};

}  // namespace pantoum::host
