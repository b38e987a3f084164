// Threads for kernels: a fixed team that splits [0, count) statically, behind the runtime's pool interface.
#pragma once

#include <memory>

#include "base/result.h"
#include "pantoum/pantoum.h"

namespace pantoum::host {

// Threads are made, and their stacks touched, by create(); run() allocates nothing. Idle workers sleep after a few
// microseconds. Piece t of T is [count * t / T, count * (t + 1) / T); the calling thread takes piece 0. Used by one
// thread at a time; a body must not call run() itself.
class ThreadPool {
 public:
  // `threads` in all, the caller's included; 0: as many as this process may run on. E0905 the system gives no more
  // threads.
  [[nodiscard]] static Result<std::unique_ptr<ThreadPool>> create(int threads);
  virtual ~ThreadPool() = default;
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] virtual const pt_pool* interface() = 0;  // for pt_session_open; valid as long as this object
  [[nodiscard]] virtual int threads() const = 0;

 protected:
  ThreadPool() = default;
};

}  // namespace pantoum::host
