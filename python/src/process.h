// Forked processes have none of their parent's threads: what needs them is refused there, and never destroyed.
#pragma once

#include <unistd.h>

#include <memory>
#include <utility>

#include "pantoum/result.hpp"

namespace pantoum::python {

// This process computes from now on. E0108 where it was forked from one that does: the threads of its kernels are missing.
[[nodiscard]] Result<void> enter_process();

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
