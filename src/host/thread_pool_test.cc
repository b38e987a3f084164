#include "host/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace pantoum::host {
namespace {

struct Pieces {
  std::vector<std::atomic<int>> touched;
  std::mutex mutex;
  std::set<std::pair<size_t, size_t>> ranges;
  std::set<std::thread::id> threads;
  explicit Pieces(size_t count) : touched(count) {}
};

void mark(void* arg, size_t begin, size_t end) {
  auto* pieces = static_cast<Pieces*>(arg);
  for (size_t item = begin; item < end; ++item) ++pieces->touched[item];
  const std::lock_guard lock(pieces->mutex);
  pieces->ranges.emplace(begin, end);
  pieces->threads.insert(std::this_thread::get_id());
}

TEST(ThreadPool, CoversEveryItemOnce) {
  for (const int threads : {1, 2, 3, 4, 7}) {
    const auto pool = ThreadPool::create(threads);
    ASSERT_TRUE(pool.has_value());
    EXPECT_EQ((*pool)->interface()->threads, static_cast<uint32_t>(threads));
    const pt_pool* c = (*pool)->interface();
    for (const size_t count : {0U, 1U, 2U, 3U, 6U, 7U, 8U, 1000U}) {
      Pieces pieces(count);
      c->run(c->context, count, mark, &pieces);
      for (const auto& touched : pieces.touched) EXPECT_EQ(touched.load(), 1) << threads << " threads, " << count;
    }
  }
}

TEST(ThreadPool, GivesEachThreadOnePieceThatDependsOnCountsAlone) {
  const auto pool = ThreadPool::create(4);
  ASSERT_TRUE(pool.has_value());
  const pt_pool* c = (*pool)->interface();
  for (int round = 0; round < 50; ++round) {
    Pieces pieces(10);
    c->run(c->context, 10, mark, &pieces);
    EXPECT_EQ(pieces.ranges, (std::set<std::pair<size_t, size_t>>{{0, 2}, {2, 5}, {5, 7}, {7, 10}}));
    EXPECT_EQ(pieces.threads.size(), 4U);
    EXPECT_TRUE(pieces.threads.contains(std::this_thread::get_id()));
  }
}

TEST(ThreadPool, ReturnsOnlyWhenAllIsDone) {
  const auto pool = ThreadPool::create(4);
  ASSERT_TRUE(pool.has_value());
  const pt_pool* c = (*pool)->interface();
  std::vector<uint32_t> values(4096, 0);
  for (uint32_t round = 1; round <= 3000; ++round) {
    c->run(
        c->context, values.size(),
        [](void* arg, size_t begin, size_t end) {
          auto* items = static_cast<uint32_t*>(arg);
          for (size_t item = begin; item < end; ++item) ++items[item];
        },
        values.data());
    ASSERT_EQ(values.front(), round);
    ASSERT_EQ(values.back(), round);
  }
  EXPECT_EQ(std::set<uint32_t>(values.begin(), values.end()), std::set<uint32_t>{3000});
}

TEST(ThreadPool, TakesAllAllowedProcessorsByDefault) {
  const auto pool = ThreadPool::create(0);
  ASSERT_TRUE(pool.has_value());
  EXPECT_GE((*pool)->interface()->threads, 1U);
  EXPECT_LE((*pool)->interface()->threads, std::max(1U, std::thread::hardware_concurrency()));
}

TEST(ThreadPool, GoesAwayWithoutHavingRun) {
  for (int round = 0; round < 20; ++round) ASSERT_TRUE(ThreadPool::create(4).has_value());
}

}  // namespace
}  // namespace pantoum::host
