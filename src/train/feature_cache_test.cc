#include "train/feature_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "testing/tiny_plan.h"

namespace pantoum::train {
namespace {

const base::Shape kFirst{2, 3}, kSecond{2};

class Kept : public testing::TestWithParam<bool> {};  // encrypted, and as it is

INSTANTIATE_TEST_SUITE_P(FeatureCache, Kept, testing::Bool());

TEST_P(Kept, GivesBackWhatWasKeptWithTheLabelsOfTheData) {
  const data::Dataset data = tiny_data(5);
  std::vector<float> first(6);
  std::vector<int64_t> second(2);
  const std::vector<data::BatchView> batch{
      {"a", base::DType::kF32, kFirst, std::as_writable_bytes(std::span(first))},
      {"b", base::DType::kI64, kSecond, std::as_writable_bytes(std::span(second))}};
  const auto cache = FeatureCache::create("/tmp", 5, batch, GetParam());
  ASSERT_TRUE(cache) << to_text(cache.error());
  for (int64_t index = 4; index >= 0; --index) {  // in any order
    for (size_t at = 0; at < 6; ++at) first[at] = static_cast<float>(10 * index) + static_cast<float>(at);
    second[1] = 100 + index;
    for (const size_t field : {0U, 1U}) ASSERT_TRUE((*cache)->put(index, field, batch[field], 1));
  }
  const data::Dataset kept = FeatureCache::as_dataset(*cache, data);
  ASSERT_EQ(kept.inputs.size(), 2U);
  EXPECT_EQ(kept.count(), 5);
  EXPECT_EQ(kept.inputs[0]->sample_shape(), base::Shape{3});
  for (int64_t index = 0; index < 5; ++index) {
    std::vector<float> row(3);
    int64_t number = 0;
    uint8_t label = 0, expected = 0;
    ASSERT_TRUE(kept.inputs[0]->read(index, std::as_writable_bytes(std::span(row))));
    ASSERT_TRUE(kept.inputs[1]->read(index, std::as_writable_bytes(std::span(&number, 1))));
    ASSERT_TRUE(kept.labels->read(index, std::as_writable_bytes(std::span(&label, 1))));
    ASSERT_TRUE(data.labels->read(index, std::as_writable_bytes(std::span(&expected, 1))));
    for (size_t at = 0; at < 3; ++at) EXPECT_EQ(row[at], static_cast<float>(10 * index) + static_cast<float>(at + 3));
    EXPECT_EQ(number, 100 + index);
    EXPECT_EQ(label, expected);
  }
  float less = 0;
  std::vector<float> row(3);
  EXPECT_EQ(kept.inputs[0]->read(0, std::as_writable_bytes(std::span(&less, 1))).error().code, "E0260");
  EXPECT_EQ(kept.inputs[0]->read(5, std::as_writable_bytes(std::span(row))).error().code, "E0260");
}

// The cache's file, which has no name any more, through the process's own descriptors.
int writable_again(uint64_t bytes) {
  for (int fd = 3; fd < 256; ++fd) {
    struct stat status {};
    if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0 &&
        static_cast<uint64_t>(status.st_size) == bytes)
      return fd;
  }
  return -1;
}

TEST_P(Kept, EveryFlippedBitIsFound) {
  const data::Dataset data = tiny_data(3);
  std::vector<float> first(6), row(3);
  const std::vector<data::BatchView> batch{{"a", base::DType::kF32, kFirst, std::as_writable_bytes(std::span(first))}};
  const auto cache = FeatureCache::create("/tmp", 3, batch, GetParam());
  ASSERT_TRUE(cache);
  for (int64_t index = 0; index < 3; ++index) {
    first[0] = static_cast<float>(index);
    ASSERT_TRUE((*cache)->put(index, 0, batch[0], 0));
  }
  constexpr uint64_t kRow = 12 + FeatureCache::kSealBytes, bytes = 3 * kRow;
  const int fd = writable_again(bytes);
  ASSERT_GE(fd, 0);
  const data::Dataset kept = FeatureCache::as_dataset(*cache, data);
  const auto read = [&](int64_t index) {
    const auto got = kept.inputs[0]->read(index, std::as_writable_bytes(std::span(row)));
    return got ? "" : got.error().code;
  };
  for (uint64_t bit = 0; bit < bytes * 8; ++bit) {
    char byte = 0;
    const auto at = static_cast<off_t>(bit / 8);
    ASSERT_EQ(::pread(fd, &byte, 1, at), 1);
    const char flipped = static_cast<char>(byte ^ (1 << bit % 8));
    ASSERT_EQ(::pwrite(fd, &flipped, 1, at), 1);
    EXPECT_EQ(read(static_cast<int64_t>(bit / 8 / kRow)), "E0903") << bit;
    ASSERT_EQ(::pwrite(fd, &byte, 1, at), 1);
  }
  for (const int64_t index : {0, 1, 2}) EXPECT_EQ(read(index), "");
  char sample[kRow];  // a row of another sample, whole, and zeros
  ASSERT_EQ(::pread(fd, sample, kRow, 0), static_cast<ssize_t>(kRow));
  ASSERT_EQ(::pwrite(fd, sample, kRow, kRow), static_cast<ssize_t>(kRow));
  EXPECT_EQ(read(1), "E0903");
  std::memset(sample, 0, sizeof sample);
  ASSERT_EQ(::pwrite(fd, sample, kRow, 0), static_cast<ssize_t>(kRow));
  EXPECT_EQ(read(0), "E0903");
}

// What lies in the file has nothing of what was kept, where it is encrypted; as it is, it does (the test's own control).
TEST_P(Kept, NobodyReadsThemInTheFile) {
  const data::Dataset data = tiny_data(3);
  std::vector<int64_t> pattern(64, 0x5041'4E54'4F55'4D21);
  const base::Shape shape{1, 64};
  const std::vector<data::BatchView> batch{{"a", base::DType::kI64, shape, std::as_writable_bytes(std::span(pattern))}};
  const auto cache = FeatureCache::create("/tmp", 3, batch, GetParam());
  ASSERT_TRUE(cache);
  for (int64_t index = 0; index < 3; ++index) ASSERT_TRUE((*cache)->put(index, 0, batch[0], 0));
  EXPECT_EQ(pattern, std::vector<int64_t>(64, 0x5041'4E54'4F55'4D21));  // as it was
  const uint64_t bytes = 3 * (512 + FeatureCache::kSealBytes);
  std::string file(bytes, '\0');
  ASSERT_EQ(::pread(writable_again(bytes), file.data(), bytes, 0), static_cast<ssize_t>(bytes));
  const std::string piece(reinterpret_cast<const char*>(pattern.data()), 4);
  EXPECT_EQ(file.find(piece) == std::string::npos, GetParam());
}

TEST(FeatureCache, AFolderThatIsNotThereIsTold) {
  std::vector<float> row(2);
  const std::vector<data::BatchView> batch{{"a", base::DType::kF32, kSecond, std::as_writable_bytes(std::span(row))}};
  const auto cache = FeatureCache::create("/no/such/folder", 5, batch);
  ASSERT_FALSE(cache);
  EXPECT_EQ(cache.error().code, "E0902");
}

TEST(FeatureCache, APlanWithoutTheProgramMakesNone) {
  class Folder : public TrainFolder {
   public:
    using TrainFolder::SetUp;
    using TrainFolder::TearDown;
    using TrainFolder::trainer;
    void TestBody() override {}
  } folder;
  folder.SetUp();
  EXPECT_EQ(folder.trainer()->make_features(tiny_data(8), "", {}).error().code, "E0105");
  folder.TearDown();
}

}  // namespace
}  // namespace pantoum::train
