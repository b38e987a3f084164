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
  const auto measured = measure_storage(folder.path().string(), GetParam(), **store, pager);
  ASSERT_TRUE(measured) << to_text(measured.error());
  EXPECT_GT(pager.in.bytes_per_s, 1e5);
  EXPECT_GT(pager.out.bytes_per_s, 1e5);
  EXPECT_GE(pager.in.latency_s, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  problem::Pager again = pager;
  again.in.bytes_per_s = 1;
  ASSERT_TRUE(measure_storage(folder.path().string(), GetParam(), **store, again));
  EXPECT_EQ(again.in.bytes_per_s, pager.in.bytes_per_s);
  again.in.bytes_per_s = 1;  // the other way is measured by itself
  ASSERT_TRUE(measure_storage(folder.path().string(), !GetParam(), **store, again));
  EXPECT_GT(again.in.bytes_per_s, 1e5);
  EXPECT_NE(again.in.bytes_per_s, pager.in.bytes_per_s);
  EXPECT_FALSE(measure_storage(folder.file("absent/folder"), GetParam(), **store, pager));
}

}  // namespace
}  // namespace pantoum::pipeline
