#include "host/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "host/prefaulted_thread.h"

namespace pantoum::host {
namespace {

constexpr int kSpins = 500;  // a few microseconds
constexpr int kMaxThreads = 1024;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits a little by looking, then asleep, until the value is no longer `old`.
uint32_t wait_for_change(const std::atomic<uint32_t>& value, uint32_t old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    const uint32_t now = value.load(std::memory_order_acquire);
    if (now != old) return now;
    pause();
  }
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

// How many processors this process may run on.
int allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

size_t piece_begin(size_t count, uint32_t piece, uint32_t pieces) {
  return count / pieces * piece + count % pieces * piece / pieces;  // no overflow
}

class Team final : public ThreadPool {
 public:
  explicit Team(int threads) : workers_(static_cast<size_t>(threads - 1)) {
    interface_.context = this;
    interface_.threads = static_cast<uint32_t>(threads);
    interface_.run = [](void* self, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
      static_cast<Team*>(self)->run(count, body, arg);
    };
  }

  ~Team() override {
    stopping_ = true;
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    for (Worker& worker : workers_) worker.thread.join();
  }

  [[nodiscard]] bool start() {
    uint32_t piece = 0;
    for (Worker& worker : workers_) {
      worker.team = this;
      worker.piece = ++piece;
      if (!worker.thread.start(
              [](void* self) { static_cast<Worker*>(self)->team->work(static_cast<Worker*>(self)->piece); }, &worker))
        return false;
    }
    return true;
  }

  [[nodiscard]] const pt_pool* interface() override { return &interface_; }
  [[nodiscard]] int threads() const override { return static_cast<int>(interface_.threads); }

 private:
  struct Worker {
    PrefaultedThread thread;
    Team* team = nullptr;
    uint32_t piece = 0;
  };

  void run(size_t count, void (*body)(void*, size_t, size_t), void* arg) {
    if (count <= 1 || workers_.empty()) {
      if (count != 0) body(arg, 0, count);
      return;
    }
    count_ = count;
    body_ = body;
    arg_ = arg;
    busy_.store(static_cast<uint32_t>(workers_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
    do_piece(0);
    for (uint32_t busy = busy_.load(std::memory_order_acquire); busy != 0;) busy = wait_for_change(busy_, busy);
  }

  void do_piece(uint32_t piece) {
    const size_t begin = piece_begin(count_, piece, interface_.threads);
    const size_t end = piece_begin(count_, piece + 1, interface_.threads);
    if (begin < end) body_(arg_, begin, end);
  }

  void work(uint32_t piece) {
    uint32_t seen = 0;
    for (;;) {
      seen = wait_for_change(round_, seen);
      if (stopping_) return;
      do_piece(piece);
      if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
    }
  }

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

}  // namespace

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads) {
  if (threads <= 0) threads = allowed_processors();
  auto team = std::make_unique<Team>(std::min(threads, kMaxThreads));
  if (!team->start())
    return fail("E0905", "the system gives no " + std::to_string(threads) + " threads", "", "use fewer threads");
  return std::unique_ptr<ThreadPool>(std::move(team));
}

}  // namespace pantoum::host
