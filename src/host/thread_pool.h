// Threads for kernels: a fixed team that splits [0, count) statically, behind the runtime's pool interface.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/result.h"
#include "host/prefaulted_thread.h"
#include "pantoum/pantoum.h"

namespace pantoum::host {

// `asked`, or as many threads as this process may run on where that is 0 or less.
int allowed_threads(int asked);

// Threads are made, and their stacks touched, by create(); run() allocates nothing. Idle workers sleep after a few
// microseconds. Piece t of T is [count * t / T, count * (t + 1) / T); the calling thread takes piece 0. Used by one
// thread at a time; a body must not call run() itself.
class ThreadPool {
 public:
  // `threads` in all, the caller's included; 0: as many as this process may run on. E0905 the system gives no more
  // threads.
  static Result<std::unique_ptr<ThreadPool>> create(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  const pt_pool* interface() const { return &interface_; }  // for pt_session_open; valid as long as this object

 private:
  struct Worker {
    PrefaultedThread thread;
    ThreadPool* pool = nullptr;
    uint32_t piece = 0;
  };
  explicit ThreadPool(int threads);
  bool start();
  void run(size_t count, void (*body)(void*, size_t, size_t), void* arg);
  void do_piece(uint32_t piece);
  void work(uint32_t piece);

  pt_pool interface_{};
  std::vector<Worker> workers_;
  // Written by the caller before a round begins, read by workers in it.
  size_t count_ = 0;
  void (*body_)(void*, size_t, size_t) = nullptr;
  void* arg_ = nullptr;
  bool stopping_ = false;
  alignas(64) std::atomic<uint32_t> round_{0};
  alignas(64) std::atomic<uint32_t> busy_{0};
};

}  // namespace pantoum::host
