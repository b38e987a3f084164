#include "host/thread_pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "host/wait_for_change.h"

namespace pantoum::host {
namespace {

constexpr int kMaxThreads = 1024;

size_t piece_begin(size_t count, uint32_t piece, uint32_t pieces) {
  return count / pieces * piece + count % pieces * piece / pieces;  // no overflow
}

}  // namespace

ThreadPool::ThreadPool(int threads) : workers_(static_cast<size_t>(threads - 1)) {
  interface_.context = this;
  interface_.threads = static_cast<uint32_t>(threads);
  interface_.run = [](void* self, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
    static_cast<ThreadPool*>(self)->run(count, body, arg);
  };
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (Worker& worker : workers_) worker.thread.join();
}

bool ThreadPool::start() {
  uint32_t piece = 0;
  for (Worker& worker : workers_) {
    worker.pool = this;
    worker.piece = ++piece;
    if (!worker.thread.start(
            [](void* self) { static_cast<Worker*>(self)->pool->work(static_cast<Worker*>(self)->piece); }, &worker))
      return false;
  }
  return true;
}

void ThreadPool::run(size_t count, void (*body)(void*, size_t, size_t), void* arg) {
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

void ThreadPool::do_piece(uint32_t piece) {
  const size_t begin = piece_begin(count_, piece, interface_.threads);
  const size_t end = piece_begin(count_, piece + 1, interface_.threads);
  if (begin < end) body_(arg_, begin, end);
}

void ThreadPool::work(uint32_t piece) {
  uint32_t seen = 0;
  for (;;) {
    seen = wait_for_change(round_, seen);
    if (stopping_) return;
    do_piece(piece);
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_one();
  }
}

int allowed_threads(int asked) {
  if (asked > 0) return asked;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads) {
  threads = allowed_threads(threads);
  std::unique_ptr<ThreadPool> pool(new ThreadPool(std::min(threads, kMaxThreads)));
  if (!pool->start())
    return fail("E0905", "the system gives no " + std::to_string(threads) + " threads", "", "use fewer threads");
  return pool;
}

}  // namespace pantoum::host
