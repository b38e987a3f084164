#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "data/epoch_batches.h"

namespace pantoum::data {
namespace {

std::vector<uint32_t> order(uint64_t seed, uint64_t epoch, size_t count) {
  std::vector<uint32_t> indices(count);
  shuffle_epoch(seed, epoch, indices);
  return indices;
}

TEST(ShuffleEpoch, HoldsEveryIndexOnce) {
  for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{7}, size_t{1000}}) {
    std::vector<uint32_t> indices = order(5, 0, count);
    std::sort(indices.begin(), indices.end());
    for (size_t at = 0; at < count; ++at) ASSERT_EQ(indices[at], at);
  }
}

TEST(ShuffleEpoch, DependsOnSeedAndEpochAlone) {
  EXPECT_EQ(order(5, 3, 100), order(5, 3, 100));
  EXPECT_NE(order(5, 3, 100), order(5, 4, 100));
  EXPECT_NE(order(5, 3, 100), order(6, 3, 100));
  EXPECT_NE(order(5, 3, 100), order(5 + (uint64_t{1} << 32), 3, 100));
}

TEST(ShuffleEpoch, IsTheSameOnEveryMachineAndInEveryRelease) {
  // Made by an independent Python implementation of the same definition (see epoch_batches.cc).
  EXPECT_EQ(order(1, 0, 10), (std::vector<uint32_t>{8, 3, 5, 6, 4, 9, 2, 1, 0, 7}));
  EXPECT_EQ(order(0x123456789abcdef0, 7, 10), (std::vector<uint32_t>{0, 9, 8, 3, 7, 6, 1, 4, 2, 5}));
}

TEST(ShuffleEpoch, MakesEveryOrderAboutEquallyOften) {
  std::map<std::vector<uint32_t>, int> seen;
  constexpr int kDraws = 24 * 1000;
  for (uint64_t epoch = 0; epoch < kDraws; ++epoch) ++seen[order(42, epoch, 4)];
  ASSERT_EQ(seen.size(), 24U);
  double chi_square = 0;
  for (const auto& [permutation, times] : seen) chi_square += (times - 1000.0) * (times - 1000.0) / 1000.0;
  EXPECT_LT(chi_square, 50);  // 23 degrees of freedom: exceeded once in a thousand seeds, and this seed is fixed
}

}  // namespace
}  // namespace pantoum::data
