// A forked process has none of its parent's threads: what needs them is refused there, and is never destroyed.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <utility>

#include "pantoum/result.hpp"

namespace pantoum::python {

// Called before threads start. E0108: this process was forked from one that computes, and lacks the threads of its kernels.
[[nodiscard]] inline Result<void> enter_process() {
  static std::atomic<::pid_t> computes = 0;
  const ::pid_t self = ::getpid();
  ::pid_t none = 0;
  if (computes.compare_exchange_strong(none, self) || none == self) return {};
  return fail("E0108", "this process was forked from one that has planned or trained, and lacks its threads", {},
              "start it with multiprocessing's \"spawn\", or fork before anything is planned");
}

// Something with threads and files, which belongs to the process that made it.
template <class T>
class Owned {
 public:
  explicit Owned(T value) : value_(std::make_shared<T>(std::move(value))), process_(::getpid()) {}
  explicit Owned(std::shared_ptr<T> value) : value_(std::move(value)), process_(::getpid()) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { reset(); }

  [[nodiscard]] bool is_own() const { return process_ == ::getpid(); }
  [[nodiscard]] const std::shared_ptr<T>& get() const { return value_; }
  // A copy in a forked process waits for threads that are not there, and removes files of its parent: it is left alone.
  void reset() {
    if (value_ && !is_own()) static_cast<void>(new std::shared_ptr<T>(std::move(value_)));
    value_.reset();
  }

 private:
  std::shared_ptr<T> value_;
  ::pid_t process_;
};

}  // namespace pantoum::python
