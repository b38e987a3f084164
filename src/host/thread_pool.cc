#include "host/thread_pool.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "host/wait_for_change.h"

namespace pantoum::host {
namespace {

constexpr int kMaxThreads = 1024;

size_t equal_piece_begin(size_t count, uint32_t piece, uint32_t pieces) {
  return count / pieces * piece + count % pieces * piece / pieces;  // no overflow
}

}  // namespace

ThreadPool::ThreadPool(Team team) : team_(std::move(team)), workers_(team_.size() - 1) {
  interface_.context = this;
  interface_.threads = static_cast<uint32_t>(team_.size());
  interface_.run = run_team;
  if (has_equal_shares(team_)) return;
  double all = 0, before = 0;
  for (const Place& place : team_) all += place.share;
  for (const Place& place : team_) before_.push_back(before / all), before += place.share;
}

void ThreadPool::run_team(void* self, size_t count, void (*body)(void*, size_t, size_t), void* arg) {
  static_cast<ThreadPool*>(self)->run(count, body, arg);
}

const ThreadPool* ThreadPool::behind(const pt_pool* pool) {
  return pool != nullptr && pool->run == run_team ? static_cast<const ThreadPool*>(pool->context) : nullptr;
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

size_t ThreadPool::piece_begin(uint32_t piece) const {
  if (before_.empty()) return equal_piece_begin(count_, piece, interface_.threads);
  if (count_ <= before_.size()) return std::min<size_t>(piece, count_);
  if (piece >= before_.size()) return count_;
  return std::min(count_, static_cast<size_t>(static_cast<double>(count_) * before_[piece]));
}

void ThreadPool::do_piece(uint32_t piece) {
  const size_t begin = piece_begin(piece);
  const size_t end = piece_begin(piece + 1);
  if (begin < end) body_(arg_, begin, end);
}

void ThreadPool::work(uint32_t piece) {
  stay_on(team_[piece].processors);
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
  const std::vector<int> allowed = allowed_processors();
  if (!allowed.empty()) return static_cast<int>(clusters_of(allowed).front().processors.size());
  return static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads) {
  return create(team_of(std::min(allowed_threads(threads), kMaxThreads)));
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(Team team) {
  const size_t threads = team.size();
  std::unique_ptr<ThreadPool> pool(new ThreadPool(std::move(team)));
  if (!pool->start())
    return fail("E0905", "the system gives no " + std::to_string(threads) + " threads", "", "use fewer threads");
  return pool;
}

std::vector<int> processors_of_caller(const pt_pool* pool) {
  if (pool == nullptr) return {};
  if (const ThreadPool* const own = ThreadPool::behind(pool)) return own->team().front().processors;
  return processors_of(team_of(static_cast<int>(pool->threads)));  // which threads that a back end makes inherit
}

}  // namespace pantoum::host
