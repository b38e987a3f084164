// Open trainers by their handles, and what became of calls on them.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
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

// Objects that programs name by their handles. A pointer that is no handle is not looked into.
template <class Object>
class Register {
 public:
  // Returns the handle of a new entry. Throws where memory is short.
  const void* enter(std::shared_ptr<Object> object) {
    const void* const name = object.get();
    const std::lock_guard lock(guard_);
    open_.emplace(name, std::move(object));
    return name;
  }
  // Returns the entry; null where there is none.
  std::shared_ptr<Object> find(const void* name) {
    const std::lock_guard lock(guard_);
    const auto found = open_.find(name);
    return found != open_.end() ? found->second : nullptr;
  }
  // Takes the entry out.
  std::shared_ptr<Object> remove(const void* name) {
    const std::lock_guard lock(guard_);
    const auto found = open_.find(name);
    if (found == open_.end()) return nullptr;
    std::shared_ptr<Object> object = std::move(found->second);
    open_.erase(found);
    return object;
  }

 private:
  std::mutex guard_;
  std::map<const void*, std::shared_ptr<Object>> open_;
};

// The handle of a new entry of the register of trainers; null where memory is short.
[[nodiscard]] pt_trainer* enter(std::shared_ptr<Handle> handle);
// The entry; null where there is none. A pointer that is no handle is not looked into.
[[nodiscard]] std::shared_ptr<Handle> find(const pt_trainer* trainer);
// Takes the entry out.
std::shared_ptr<Handle> remove(const pt_trainer* trainer);

// The error of the thread's last call on what is no open trainer.
[[nodiscard]] std::optional<Error>& error_without_trainer();

// 262 of "E0262".
[[nodiscard]] int status_of(const Error& error);

// The error as the program reads it, in strings of the calling thread. None: the status is 0.
[[nodiscard]] const pt_train_error* tell(const std::optional<Error>& error);
// What is told where there is no memory for an error.
[[nodiscard]] const pt_train_error& out_of_memory();

// E0150: the function was called as its header does not allow.
[[nodiscard]] Failure misuse(std::string what, const char* function, std::string help = "see pantoum/train.h");

// ---- Structs that begin with their size: a program that was compiled with an older header has shorter ones.

// Whether an older header, or this one, has the struct in this size: only such a size tells where the caller's memory ends.
template <class Struct>
bool is_size_of(size_t size) {
  return size >= sizeof(size_t) && size <= sizeof(Struct) && size % alignof(Struct) == 0;
}

// E0150 null, or `size` was not set, or is wrong.
template <class Answer>
[[nodiscard]] Result<void> check_place(const Answer* into, const char* function) {
  if (into == nullptr) return misuse("the answer has no place: a null pointer", function);
  if (!is_size_of<Answer>(into->size))
    return misuse(into->size > sizeof *into ? "the struct for the answer is larger than that of this library"
                                            : "the size of the struct for the answer is not set",
                  function, "set .size = sizeof of the struct; use a library that is as new as the header");
  return {};
}

// Fills as much of the caller's struct as it has room for. E0150 as check_place.
template <class Answer>
[[nodiscard]] Result<void> answer(Answer* into, const Answer& value, const char* function) {
  PANTOUM_TRY(check_place(into, function));
  const size_t size = into->size;
  std::memcpy(into, &value, size);
  into->size = size;
  return {};
}

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
