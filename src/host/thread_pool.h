// Threads for kernels: a fixed team that splits [0, count) statically, behind the runtime's pool interface.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/result.h"
#include "host/prefaulted_thread.h"
#include "host/processors.h"
#include "pantoum/pantoum.h"

namespace pantoum::host {

// `asked`, or where that is 0 or less one thread for each processor of the first cluster that this process may run on.
int allowed_threads(int asked);

// Threads are made, and their stacks touched, by create(); run() allocates nothing. Idle workers sleep after a few
// microseconds. Piece t of T is [count * t / T, count * (t + 1) / T); the calling thread takes piece 0. In a team whose
// places have different shares pieces are by these shares, and piece t is [t, t + 1) where there are no more items than
// threads. Used by one thread at a time; a body must not call run() itself.
class ThreadPool {
 public:
  // `threads` in all, the caller's included; 0: as allowed_threads says. They run where team_of places them. E0905 the
  // system gives no more threads.
  static Result<std::unique_ptr<ThreadPool>> create(int threads);
  // One thread for each place, the caller's first, which stays where its caller lets it run (StayOn). E0905.
  static Result<std::unique_ptr<ThreadPool>> create(Team team);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // The pool behind an interface that interface() gave; null: it is another's.
  static const ThreadPool* behind(const pt_pool* pool);
  const Team& team() const { return team_; }
  const pt_pool* interface() const { return &interface_; }  // for pt_session_open; valid as long as this object

 private:
  struct Worker {
    PrefaultedThread thread;
    ThreadPool* pool = nullptr;
    uint32_t piece = 0;
  };
  explicit ThreadPool(Team team);
  bool start();
  static void run_team(void* self, size_t count, void (*body)(void*, size_t, size_t), void* arg);
  void run(size_t count, void (*body)(void*, size_t, size_t), void* arg);
  void do_piece(uint32_t piece);
  [[nodiscard]] size_t piece_begin(uint32_t piece) const;
  void work(uint32_t piece);

  pt_pool interface_{};
  Team team_;
  std::vector<double> before_;  // shares of the places before each, and of all; empty: shares are equal
  std::vector<Worker> workers_;
  // Written by the caller before a round begins, read by workers in it.
  size_t count_ = 0;
  void (*body_)(void*, size_t, size_t) = nullptr;
  void* arg_ = nullptr;
  bool stopping_ = false;
  alignas(64) std::atomic<uint32_t> round_{0};
  alignas(64) std::atomic<uint32_t> busy_{0};
};

// The processors of the thread that calls run() of a pool of this machine, a back end's too; empty: the system chooses.
std::vector<int> processors_of_caller(const pt_pool* pool);

}  // namespace pantoum::host
