// Open trainers by their handles, and what became of calls on them.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>

#include "base/inputs_in_use.h"
#include "base/result.h"
#include "host/kernel_set.h"
#include "pantoum/train.h"
#include "train/trainer.h"

namespace pantoum::capi {

// The object that a pt_trainer refers to. Members are in the order of construction, so that the trainer is destroyed first.
struct Handle {
  std::atomic<std::thread::id> caller;  // the thread that is in a call on it, and so holds the guard
  std::mutex guard;                     // of all below: one call at a time
  std::optional<Error> error;
  std::shared_ptr<const host::KernelSet> kernels;
  uint32_t micro_batches = 1;
  std::span<const pt_train_data> pending;  // what the step that runs is to read
  std::string kernel_name;                 // of the last usage that was asked for: its strings are the caller's to read
  train::Usage usage;
  base::InputsInUse inputs;  // the files of the plan and of the first weights
  std::unique_ptr<train::Trainer> trainer;
};

// The handle of a new entry of the register; null where memory is short.
[[nodiscard]] pt_trainer* enter(std::shared_ptr<Handle> handle);
// The entry; null where there is none. A pointer that is no handle is not looked into.
[[nodiscard]] std::shared_ptr<Handle> find(const pt_trainer* trainer);
// Takes the entry out.
std::shared_ptr<Handle> remove(const pt_trainer* trainer);

// The error of the thread's last call on what is no open trainer.
[[nodiscard]] std::optional<Error>& error_without_trainer();

// 262 of "E0262".
[[nodiscard]] int status_of(const Error& error);

// The exception that is being handled as an error.
[[nodiscard]] Error caught(const char* function);

// Keeps the error in its place, where memory allows. Never throws.
[[nodiscard]] int failed(std::optional<Error>& place, Error error) noexcept;

// Whether this thread is inside a call on the trainer: from an operator of the program's own, a hook of its allocator, a signal's handler.
[[nodiscard]] inline bool is_in_call(const Handle& handle) {
  return handle.caller.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

// The handle's lock, with the name of the thread that has it.
class Call {
 public:
  explicit Call(Handle& handle) : lock_(handle.guard), handle_(handle) { handle.caller = std::this_thread::get_id(); }
  ~Call() { handle_.caller = std::thread::id(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  std::lock_guard<std::mutex> lock_;
  Handle& handle_;
};

// Runs `work(handle)` under the handle's lock. What it returns or throws is kept, and its number returned. E0150: this thread is in a call on it.
template <class Work>
int call(const pt_trainer* trainer, const char* function, const Work& work) noexcept {
  try {
    const std::shared_ptr<Handle> handle = find(trainer);
    if (handle == nullptr)
      return failed(error_without_trainer(),
                    Error{.code = "E0150",
                          .message = trainer == nullptr ? "the trainer is a null pointer" : "this is no open trainer",
                          .where = function,
                          .help = "pt_train_open makes one, until pt_train_close"});
    if (is_in_call(*handle))
      return failed(handle->error, Error{.code = "E0150",
                                         .message = "the trainer is called from inside a call on it",
                                         .where = function,
                                         .help = "call it when that call has returned"});
    const Call lock(*handle);
    try {
      const Result<void> done = work(*handle);
      return done ? 0 : failed(handle->error, done.error());
    } catch (...) {
      return failed(handle->error, caught(function));
    }
  } catch (...) {
    return failed(error_without_trainer(), caught(function));
  }
}

}  // namespace pantoum::capi
