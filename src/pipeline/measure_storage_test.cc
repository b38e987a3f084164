#include "pipeline/measure_storage.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "testing/temporary_folder.h"

namespace pantoum::pipeline {
namespace {

class MeasureStorage : public testing::TestWithParam<bool> {};

INSTANTIATE_TEST_SUITE_P(Encryption, MeasureStorage, testing::Bool());

TEST_P(MeasureStorage, MeasuresOnceAndLeavesNothingBehind) {
  const TemporaryFolder folder;
  const auto store = cost::ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  problem::Pager pager{.mode = problem::PagerMode::kAsync, .block_bytes = 512};
  const StorageQuestion asked{.folder = folder.path().string(), .encrypt = GetParam()};
  const StorageQuestion other{.folder = folder.path().string(), .encrypt = !GetParam()};
  const auto measured = measure_storage(asked, **store, pager);
  ASSERT_TRUE(measured) << to_text(measured.error());
  EXPECT_GT(pager.in.bytes_per_s, 1e5);
  EXPECT_GT(pager.out.bytes_per_s, 1e5);
  EXPECT_GE(pager.in.latency_s, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  problem::Pager again = pager;
  again.in.bytes_per_s = 1;
  ASSERT_TRUE(measure_storage(asked, **store, again));
  EXPECT_EQ(again.in.bytes_per_s, pager.in.bytes_per_s);
  again.in.bytes_per_s = 1;  // the other way is measured by itself
  ASSERT_TRUE(measure_storage(other, **store, again));
  EXPECT_GT(again.in.bytes_per_s, 1e5);
  EXPECT_NE(again.in.bytes_per_s, pager.in.bytes_per_s);
  EXPECT_FALSE(measure_storage({.folder = folder.file("absent/folder"), .encrypt = GetParam()}, **store, pager));
}

TEST(MeasureStorage, FindsAFolderUnderAnotherName) {
  const TemporaryFolder folder;
  const auto store = cost::ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  problem::Pager pager{.mode = problem::PagerMode::kAsync, .block_bytes = 512};
  ASSERT_TRUE(measure_storage({.folder = folder.path().string()}, **store, pager));
  problem::Pager again{.mode = problem::PagerMode::kAsync, .block_bytes = 512};
  EXPECT_TRUE(known_storage({.folder = folder.path().string() + "/./"}, **store, again).value());
  EXPECT_EQ(again.out.bytes_per_s, pager.out.bytes_per_s);
  EXPECT_FALSE(known_storage({.folder = "/"}, **store, again).value());
}

TEST(MeasureStorage, TakesOneSampleOfEachWhereThereIsNoTime) {
  const TemporaryFolder folder;
  const auto store = cost::ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  problem::Pager pager{.mode = problem::PagerMode::kAsync, .block_bytes = 512};
  ASSERT_TRUE(measure_storage({.folder = folder.path().string(), .seconds = 0}, **store, pager));
  EXPECT_GT(pager.in.bytes_per_s, 1e5);
}

// Whatever the clock says, the store takes the link and the large transfer's seconds come out again, nearly.
TEST(MeasureStorage, FitsALinkToNoisySeconds) {
  const auto store = cost::ProfileStore::open(":memory:");
  ASSERT_TRUE(store);
  for (const double large : {1e-9, 1e-5, 3e-4, 0.01, 2.0}) {
    for (const double small : {0.0, large / 300, large / 2, large * (1 - 1e-9), large, large * 3}) {
      const problem::Link link = fit_link(small, large, 1);
      ASSERT_TRUE((*store)->put_link("a", link, 1));
      ASSERT_TRUE((*store)->find_link("a").value().has_value()) << small << " " << large;
      const double modelled = link.latency_s + (1 << 20) / link.bytes_per_s;
      EXPECT_GE(modelled, large * 0.99) << small;
      EXPECT_LE(modelled, large * 1.1 + 2e-7) << small;
    }
  }
}

}  // namespace
}  // namespace pantoum::pipeline
