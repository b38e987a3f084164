#include "pipeline/measure_storage.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "host/thread_pool.h"
#include "testing/temporary_folder.h"

namespace pantoum::pipeline {
namespace {

class MeasureStorage : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Encryption, MeasureStorage, testing::Bool());

TEST_P(MeasureStorage, MeasuresOnceAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  const auto store = cost::ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  const StorageQuestion asked{.folder = folder.path().string(), .encrypt = GetParam()};
  const StorageQuestion other{.folder = folder.path().string(), .encrypt = !GetParam()};
  const auto measured = measure_storage(asked, **store);
  ASSERT_TRUE(measured) << to_text(measured.error());
  for (const cost::LinkSample& side : {measured->in, measured->out}) {
    EXPECT_GT(side.link.bytes_per_s, 1e5);
    EXPECT_GE(side.link.latency_s, 0);
    EXPECT_GE(side.engine_s, 0);
    EXPECT_GE(side.engine_s_per_byte, 0);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_EQ(measure_storage(asked, **store)->in.link.bytes_per_s, measured->in.link.bytes_per_s);
  EXPECT_FALSE(known_storage(other, **store).value());  // is measured by itself
  ASSERT_TRUE(measure_storage(other, **store));
  EXPECT_TRUE(known_storage(other, **store).value());
  EXPECT_FALSE(measure_storage({.folder = folder.file("absent/folder"), .encrypt = GetParam()}, **store));
}

TEST(MeasureStorage, FindsAFolderUnderAnotherName) {
  const TemporaryFolder folder;
  const auto store = cost::ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  const auto measured = measure_storage({.folder = folder.path().string()}, **store);
  ASSERT_TRUE(measured);
  const auto again = known_storage({.folder = folder.path().string() + "/./"}, **store).value();
  ASSERT_TRUE(again);
  EXPECT_EQ(again->out.link.bytes_per_s, measured->out.link.bytes_per_s);
  EXPECT_FALSE(known_storage({.folder = "/"}, **store).value());
}

TEST(MeasureStorage, KeepsNumbersOfThreadsApart) {
  const TemporaryFolder folder;
  const auto store = cost::ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  const auto pool = host::ThreadPool::create(2);
  ASSERT_TRUE(pool);
  ASSERT_TRUE(measure_storage({.folder = folder.path().string(), .pool = (*pool)->interface()}, **store));
  EXPECT_FALSE(known_storage({.folder = folder.path().string()}, **store).value());
}

TEST(MeasureStorage, TakesOneSampleOfEachWhereThereIsNoTime) {
  const TemporaryFolder folder;
  const auto store = cost::ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  const auto measured = measure_storage({.folder = folder.path().string(), .seconds = 0}, **store);
  ASSERT_TRUE(measured);
  EXPECT_GT(measured->in.link.bytes_per_s, 1e5);
}

TEST(MeasureStorage, CountsTheProcessorsPartInWattsAndSeconds) {
  const MeasuredStorage storage{.in = {{1e-4, 1 << 30}, 1e-4, 2e-10}, .out = {{1e-4, 1 << 30}, 0, 0}};
  problem::Pager pager{.in = {.w = 0.5}, .out = {.w = 0.5}};
  storage.put_into(pager, 10);
  constexpr double kMiB = 1 << 20, kTransfer = 1e-4 + 1.0 / 1024, kTaken = 1e-4 + 2e-10 * kMiB;
  EXPECT_DOUBLE_EQ(pager.in.w, 0.5 + 10 * kTaken / kTransfer);
  EXPECT_DOUBLE_EQ(pager.out.w, 0.5);
  EXPECT_DOUBLE_EQ(storage.taken(false, 1 << 20), kTaken);
  EXPECT_EQ(storage.taken(true, 1 << 20), 0);
}

// Held back, what a step hides of its transfers takes at most .15 of it; where a core is free, nothing is.
TEST(MeasureStorage, HoldsBackWhereThreadsHaveEveryCore) {
  const MeasuredStorage free{.in = {{1e-4, 1 << 30}, 1e-4, 2e-10}, .out = {{1e-5, 1e9}, 0, 0}};
  EXPECT_EQ(free.held_back().in.link.latency_s, 1e-4);
  MeasuredStorage full = free;
  full.beside_every_core = true;
  const MeasuredStorage held = full.held_back();
  EXPECT_DOUBLE_EQ(held.in.link.latency_s, 1e-4 / 0.15);
  EXPECT_DOUBLE_EQ(held.in.link.bytes_per_s, 0.15 / 2e-10);
  EXPECT_EQ(held.out.link.latency_s, 1e-5);
  EXPECT_EQ(held.out.link.bytes_per_s, 1e9);
  EXPECT_EQ(full.in.link.latency_s, 1e-4);
  problem::Pager alone{.in = free.in.link, .out = free.out.link}, beside = alone;
  free.delay(alone), full.delay(beside);
  EXPECT_EQ(alone.in.latency_s, 1e-4);
  const double more = 1.0 / std::max(1U, std::thread::hardware_concurrency());
  EXPECT_DOUBLE_EQ(beside.in.latency_s, 1e-4 * (1 + more));
  EXPECT_DOUBLE_EQ(1 / beside.in.bytes_per_s, 1.0 / (1 << 30) + more * 2e-10);
  EXPECT_EQ(beside.out.latency_s, 1e-5);
}

TEST(MeasureStorage, TellsWhetherThreadsHaveEveryCoreWithTheStoreOrWithout) {
  const TemporaryFolder folder;
  const auto store = cost::ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  const auto pool = host::ThreadPool::create(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
  ASSERT_TRUE(pool);
  const StorageQuestion asked{.folder = folder.path().string(), .pool = (*pool)->interface()};
  EXPECT_TRUE(measure_storage(asked, **store)->beside_every_core);
  EXPECT_TRUE(known_storage(asked, **store).value()->beside_every_core);
}

// Whatever the clock says, the store takes the link and the large transfer's seconds come out again, nearly.
TEST(MeasureStorage, FitsALinkToNoisySeconds) {
  const auto store = cost::ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  for (const double large : {1e-9, 1e-5, 3e-4, 0.01, 2.0}) {
    for (const double small : {0.0, large / 300, large / 2, large * (1 - 1e-9), large, large * 3}) {
      const problem::Link link = fit_link(small, large);
      ASSERT_TRUE((*store)->put_link("a", {link}, 1));
      ASSERT_TRUE((*store)->find_link("a").value().has_value()) << small << " " << large;
      const double modelled = link.latency_s + (1 << 20) / link.bytes_per_s;
      EXPECT_GE(modelled, large * 0.99) << small;
      EXPECT_LE(modelled, large * 1.1 + 2e-7) << small;
    }
  }
}

}  // namespace
}  // namespace pantoum::pipeline
