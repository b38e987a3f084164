// A thread with a small stack whose pages are touched before its body begins, so that it costs no new memory later.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace pantoum::host {

class PrefaultedThread {
 public:
  using Body = void (*)(void* arg);
  PrefaultedThread() = default;
  PrefaultedThread(const PrefaultedThread&) = delete;
  PrefaultedThread& operator=(const PrefaultedThread&) = delete;

  // Once. Runs body(arg) on a new thread once its stack is in RAM; returns when it is. False: the system gives no thread.
  // Signals stay with the process's other threads.
  [[nodiscard]] bool start(Body body, void* arg);
  bool started() const { return started_; }
  // Waits for the end of the body. In a process that was forked from the one that started the thread there is no thread: join() returns.
  void join();

 private:
  static void* run(void* self);

  Body body_ = nullptr;
  void* arg_ = nullptr;
  std::atomic<uint32_t> is_warm_{0};
  pthread_t thread_{};
  pid_t process_ = 0;  // that started it
  bool started_ = false;
};

}  // namespace pantoum::host
