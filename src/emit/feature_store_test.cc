#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

extern "C" {
#include "emit/project/feature_store.h"
#include "emit/project/ram_disk.h"
}

namespace pantoum::emit {
namespace {

constexpr uint32_t kFirst = 3, kSamples = 10;
constexpr std::array<pt_feature, 2> kList{
    {{.made = 0, .read = 1, .row_bytes = 200}, {.made = 2, .read = 3, .row_bytes = 12}}};
constexpr pt_feature_key kKey{.plan = 1, .weights = 2, .samples = 3, .count = kSamples};

class FeatureStoreTest : public ::testing::Test {
 protected:
  explicit FeatureStoreTest(uint32_t blocks = kFirst + 6) : bytes_(size_t{blocks} * PT_BLOCK_BYTES, 0xAB) {
    pt_ram_disk_open(&disk_, bytes_.data(), blocks, &blocks_);
    open();
  }
  void open(bool checked = false) {
    pt_features_open(&store_, &blocks_, kFirst, kList.data(), static_cast<uint32_t>(kList.size()), checked ? 1 : 0,
                     buffer_);
  }
  static std::vector<uint8_t> rows(uint32_t which, uint32_t sample, uint32_t count) {
    const size_t bytes = kList[which].row_bytes;
    std::vector<uint8_t> made(count * bytes);
    for (size_t at = 0; at < made.size(); ++at)
      made[at] = static_cast<uint8_t>(31 * which + 7 * (sample + at / bytes) + at % bytes);
    return made;
  }
  // Of samples [0, end), four at a time.
  void put(uint32_t end) {
    for (uint32_t sample = 0; sample < end; sample += 4)
      for (uint32_t which = 0; which < kList.size(); ++which) {
        const uint32_t count = std::min(4U, end - sample);
        ASSERT_EQ(pt_features_put(&store_, which, sample, count, rows(which, sample, count).data()), PT_OK);
      }
  }
  std::vector<uint8_t> get(uint32_t which, uint32_t sample, uint32_t count) {
    std::vector<uint8_t> found(size_t{count} * kList[which].row_bytes);
    EXPECT_EQ(pt_features_get(&store_, which, sample, count, found.data()), PT_OK);
    return found;
  }

  std::vector<uint8_t> bytes_;
  alignas(16) uint8_t buffer_[PT_BLOCK_BYTES];
  pt_ram_disk disk_;
  pt_blocks blocks_;
  pt_features store_;
};

TEST_F(FeatureStoreTest, KeepsRowsThatBlocksShare) {
  EXPECT_EQ(pt_feature_blocks(kList.data(), 2, kSamples, 0), 1U + 4U + 1U);  // 2,000 and 120 bytes
  EXPECT_EQ(pt_features_find(&store_, &kKey), PT_E_STATE);
  ASSERT_EQ(pt_features_begin(&store_, &kKey), PT_OK);
  put(kSamples);
  ASSERT_EQ(pt_features_end(&store_), PT_OK);
  open();
  ASSERT_EQ(pt_features_find(&store_, &kKey), PT_OK);
  for (uint32_t which = 0; which < 2; ++which)
    for (uint32_t sample = 0; sample < kSamples; ++sample)
      for (uint32_t count = 1; sample + count <= kSamples; ++count)
        ASSERT_EQ(get(which, sample, count), rows(which, sample, count)) << which << ' ' << sample << ' ' << count;
}

TEST_F(FeatureStoreTest, CountsWhatItWrites) {
  ASSERT_EQ(pt_features_begin(&store_, &kKey), PT_OK);
  put(kSamples);
  ASSERT_EQ(pt_features_end(&store_), PT_OK);
  EXPECT_EQ(store_.record_bytes, 2U * PT_BLOCK_BYTES);
  // 800, 800 and 400 bytes in blocks 0-1, 1-3, 3; 48, 48 and 24 bytes in one block
  EXPECT_EQ(store_.pager.bytes_written, (2U + 3U + 1U + 3U) * PT_BLOCK_BYTES);
  for (size_t at = 0; at < size_t{kFirst} * PT_BLOCK_BYTES; ++at) ASSERT_EQ(bytes_[at], 0xAB) << at;
}

TEST_F(FeatureStoreTest, FindsNothingUntilAllIsThere) {
  ASSERT_EQ(pt_features_begin(&store_, &kKey), PT_OK);
  put(kSamples);
  open();
  EXPECT_EQ(pt_features_find(&store_, &kKey), PT_E_STATE);
  ASSERT_EQ(pt_features_begin(&store_, &kKey), PT_OK);
  ASSERT_EQ(pt_features_end(&store_), PT_OK);
  ASSERT_EQ(pt_features_find(&store_, &kKey), PT_OK);
  ASSERT_EQ(pt_features_begin(&store_, &kKey), PT_OK);  // made anew: what was there is no longer
  open();
  EXPECT_EQ(pt_features_find(&store_, &kKey), PT_E_STATE);
}

TEST_F(FeatureStoreTest, TakesNeitherDamagedNorOthersFeatures) {
  ASSERT_EQ(pt_features_begin(&store_, &kKey), PT_OK);
  ASSERT_EQ(pt_features_end(&store_), PT_OK);
  for (pt_feature_key other : {pt_feature_key{9, 2, 3, kSamples}, pt_feature_key{1, 9, 3, kSamples},
                               pt_feature_key{1, 2, 9, kSamples}, pt_feature_key{1, 2, 3, kSamples - 1}}) {
    EXPECT_EQ(pt_features_find(&store_, &other), PT_E_STATE);
    EXPECT_EQ(store_.key.count, 0U);
  }
  ASSERT_EQ(pt_features_find(&store_, &kKey), PT_OK);
  for (size_t at = 0; at < 8 + sizeof kKey; ++at) {
    uint8_t& byte = bytes_[size_t{kFirst} * PT_BLOCK_BYTES + at];
    byte ^= 1;
    EXPECT_EQ(pt_features_find(&store_, &kKey), PT_E_STATE) << at;
    byte ^= 1;
  }
}

class CheckedFeatureStoreTest : public FeatureStoreTest {
 protected:
  CheckedFeatureStoreTest() : FeatureStoreTest(kFirst + 8) { open(true); }
};

TEST_F(CheckedFeatureStoreTest, NoticesFlippedBitsOfRowsAndSums) {
  EXPECT_EQ(pt_feature_blocks(kList.data(), 2, kSamples, 1), 1U + 4U + 1U + 1U + 1U);
  ASSERT_EQ(pt_features_begin(&store_, &kKey), PT_OK);
  put(kSamples);
  ASSERT_EQ(pt_features_end(&store_), PT_OK);
  open(true);
  ASSERT_EQ(pt_features_find(&store_, &kKey), PT_OK);
  uint32_t noticed = 0, tried = 0;
  std::vector<uint8_t> found(size_t{kSamples} * kList[0].row_bytes);
  for (size_t bit = size_t{kFirst + 1} * PT_BLOCK_BYTES * 8; bit < bytes_.size() * 8; bit += 9) {  // most bytes
    bytes_[bit / 8] = static_cast<uint8_t>(bytes_[bit / 8] ^ 1U << bit % 8);
    bool is_read = true;
    for (uint32_t which = 0; which < kList.size(); ++which) {
      const pt_status status = pt_features_get(&store_, which, 0, kSamples, found.data());
      if (status == PT_E_IO) is_read = false;
      const bool is_same =
          std::memcmp(found.data(), rows(which, 0, kSamples).data(), size_t{kList[which].row_bytes} * kSamples) == 0;
      EXPECT_TRUE(status == PT_E_IO || is_same);
    }
    const size_t at = bit / 8 - size_t{kFirst + 1} * PT_BLOCK_BYTES;  // rows, sums, rows, sums
    tried += at < 2000 || (at >= 2048 && at < 2088) || (at >= 2560 && at < 2680) || (at >= 3072 && at < 3112) ? 1 : 0;
    noticed += is_read ? 0 : 1;
    bytes_[bit / 8] = static_cast<uint8_t>(bytes_[bit / 8] ^ 1U << bit % 8);
  }
  EXPECT_GT(tried, 1900U);
  EXPECT_EQ(noticed, tried);  // the rest of the blocks nobody reads
}

TEST_F(CheckedFeatureStoreTest, NoticesRowsOfAnotherPlaceOrKey) {
  ASSERT_EQ(pt_features_begin(&store_, &kKey), PT_OK);
  put(kSamples);
  ASSERT_EQ(pt_features_end(&store_), PT_OK);
  std::vector<uint8_t> found(kList[0].row_bytes);
  uint8_t* first = &bytes_[size_t{kFirst + 1} * PT_BLOCK_BYTES];
  std::swap_ranges(first, first + 200, first + 200);  // samples 0 and 1, with their sums
  uint8_t* sums = &bytes_[size_t{kFirst + 5} * PT_BLOCK_BYTES];
  std::swap_ranges(sums, sums + 4, sums + 4);
  EXPECT_EQ(pt_features_get(&store_, 0, 0, 1, found.data()), PT_E_IO);
  EXPECT_EQ(pt_features_get(&store_, 0, 2, 1, found.data()), PT_OK);
  store_.key.samples = 9;
  EXPECT_EQ(pt_features_get(&store_, 0, 2, 1, found.data()), PT_E_IO);
}

TEST_F(FeatureStoreTest, TellsThatThereIsNoRoom) {
  pt_feature_key more = kKey;
  more.count = 11;  // 2,200 bytes: a block more
  EXPECT_EQ(pt_features_find(&store_, &more), PT_E_FULL);
  EXPECT_EQ(pt_features_begin(&store_, &more), PT_E_FULL);
  EXPECT_EQ(store_.record_bytes, 0U);
}

}  // namespace
}  // namespace pantoum::emit
