#include "data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/files.h"
#include "data/format.h"
#include "testing/data_folder.h"

namespace pantoum::data {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

std::string big_endian(uint32_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift);
  return text;
}

std::string idx(char type, const std::vector<uint32_t>& shape, const std::string& data) {
  std::string file{'\0', '\0', type, static_cast<char>(shape.size())};
  for (const uint32_t extent : shape) file += big_endian(extent);
  return file + data;
}

std::string npy(const std::string& descr, const std::string& order, const std::string& shape, const std::string& data,
                char version = 1) {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize(117, ' ');
  header += '\n';
  std::string file = "\x93NUMPY"s + version + '\0' + static_cast<char>(header.size()) + '\0';
  if (version > 1) file += std::string(2, '\0');
  return file + header + data;
}

TEST_F(DataFolder, ReadsIdxSampleBySample) {
  const auto samples = open_samples(put("x", idx(8, {3, 2, 2}, "abcdefghijkl")), cache());
  ASSERT_TRUE(samples) << to_text(samples.error());
  EXPECT_EQ((*samples)->count(), 3);
  EXPECT_EQ((*samples)->sample_shape(), (base::Shape{2, 2}));
  EXPECT_EQ((*samples)->dtype(), base::DType::kU8);
  EXPECT_EQ(sample(**samples, 1), "efgh");
  EXPECT_EQ(sample(**samples, 3), "E0260");
  EXPECT_EQ(sample(**samples, -1), "E0260");
}

TEST_F(DataFolder, TurnsBigEndianNumbersOfIdxIntoTheMachines) {
  const auto samples = open_samples(put("x", idx(12, {2, 1}, big_endian(1) + big_endian(0x01020304))), cache());
  ASSERT_TRUE(samples);
  int32_t value = 0;
  ASSERT_TRUE((*samples)->read(1, std::as_writable_bytes(std::span(&value, 1))));
  EXPECT_EQ(value, 0x01020304);
}

TEST_F(DataFolder, ReadsNpyOfEveryVersionAndType) {
  for (const char version : {'\1', '\2', '\3'}) {
    const auto samples =
        open_samples(put("x.npy", npy("<i8", "False", "(2,)", std::string(8, '\0') + "abcdefgh", version)), cache());
    ASSERT_TRUE(samples) << to_text(samples.error());
    EXPECT_EQ((*samples)->sample_shape(), base::Shape{});
    EXPECT_EQ(sample(**samples, 1), "abcdefgh");
  }
  EXPECT_EQ(open_samples(put("x.npy", npy("|u1", "False", "(2, 3)", "abcdef")), cache()).value()->dtype(),
            base::DType::kU8);
  EXPECT_EQ(open_samples(put("x.npy", npy("<f4", "False", "(1, 2)", "abcdefgh")), cache()).value()->dtype(),
            base::DType::kF32);
  EXPECT_EQ(open_samples(put("x.npy", npy("<i4", "True", "(2,)", "abcdefgh")), cache()).value()->dtype(),
            base::DType::kI32);
}

std::string put_gzip(const std::string& to, const std::string& bytes) {
  gzFile file = ::gzopen(to.c_str(), "wb");
  ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  ::gzclose(file);
  return to;
}

struct RefusedFile {
  std::string bytes, because;
};

class OpenSamplesRefuses : public DataFolder, public ::testing::WithParamInterface<RefusedFile> {};

TEST_P(OpenSamplesRefuses, WithTheReason) {
  const auto samples = open_samples(put("x", GetParam().bytes), cache());
  ASSERT_FALSE(samples);
  EXPECT_EQ(samples.error().code, "E0261");
  EXPECT_THAT(to_text(samples.error()), HasSubstr(GetParam().because));
}

INSTANTIATE_TEST_SUITE_P(
    Damage, OpenSamplesRefuses,
    ::testing::Values(RefusedFile{idx(8, {3, 2, 2}, "abcdefghijk"), "the file has 27 bytes; its header promises 28"},
                      RefusedFile{idx(8, {3, 2, 2}, "abcdefghijklm"), "the file has 29 bytes; its header promises 28"},
                      RefusedFile{idx(8, {3, 2, 2}, "").substr(0, 10), "its header alone needs 16"},
                      RefusedFile{idx(8, {~0U, ~0U, ~0U, ~0U}, ""), "too large"},
                      RefusedFile{idx(8, {}, ""), "single number"}, RefusedFile{idx(8, {0, 2}, ""), "extents is 0"},
                      RefusedFile{idx(8, {2, 0}, ""), "extents is 0"}, RefusedFile{idx(14, {1}, "abcdefgh"), "0x0e"},
                      RefusedFile{idx(7, {1}, "a"), "0x07"}, RefusedFile{"", "neither IDX nor NPY"},
                      RefusedFile{"\x7f"s + "ELF", "neither IDX nor NPY"},
                      RefusedFile{npy("<f8", "False", "(1,)", "abcdefgh"), "numpy.float32"},
                      RefusedFile{npy("<f2", "False", "(1,)", "ab"), "'<f2'"},
                      RefusedFile{npy(">f4", "False", "(1,)", "abcd"), "'>f4'"},
                      RefusedFile{npy("|O", "False", "(1,)", "abcd"), "'|O'"},
                      RefusedFile{npy("<f4", "True", "(1, 1)", "abcd"), "ascontiguousarray"},
                      RefusedFile{npy("<f4", "False", "()", "abcd"), "single number"},
                      RefusedFile{npy("<f4", "False", "(18446744073709551616,)", ""), "damaged"},
                      RefusedFile{npy("<f4", "False", "(9223372036854775807, 4)", ""), "too large"},
                      RefusedFile{npy("<f4", "Maybe", "(1,)", "abcd"), "damaged"},
                      RefusedFile{npy("<f4", "False", "(1", "abcd"), "damaged"},
                      RefusedFile{npy("<f4', 'x': '1", "False", "(1,)", "abcd"), "damaged"},
                      RefusedFile{npy("<f4", "False", "(1,)", "abcd", 9), "version 9"},
                      RefusedFile{npy("<f4", "False", "(1,)", "").substr(0, 60), "cut short"},
                      RefusedFile{npy("<f4", "False", "(2,)", "abcd"), "header promises"}));

TEST(ArrayHeaders, AnyBytesAreUnderstoodWithinTheFileOrRefused) {
  for (const std::string& whole : {idx(8, {2, 2}, "abcd"), npy("<f4", "False", "(1, 2)", "abcdefgh")}) {
    for (size_t at = 0; at < whole.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string broken = whole;
        broken[at] = static_cast<char>(broken[at] ^ (1 << bit));
        const auto start = std::as_bytes(std::span(broken));
        for (const auto& layout :
             {read_idx_header(start, broken.size(), "x"), read_npy_header(start, broken.size(), "x")})
          if (layout) {
            EXPECT_EQ(layout->data_at + static_cast<uint64_t>(layout->count) * layout->sample_bytes, broken.size());
          }
      }
      const auto start = std::as_bytes(std::span(whole)).first(at);
      EXPECT_FALSE(read_idx_header(start, at, "x"));
      EXPECT_FALSE(read_npy_header(start, at, "x"));
    }
  }
}

TEST_F(DataFolder, UnpacksGzipOncePrivately) {
  std::string data;
  for (int byte = 0; byte < 300'000; ++byte) data += static_cast<char>(byte * 31 >> 3);
  const std::string packed = put_gzip(path("x.gz"), idx(8, {300, 1000}, data));
  ASSERT_EQ(sample(*open_samples(packed, cache()).value(), 299), data.substr(299'000));
  const auto cached = std::filesystem::directory_iterator(cache())->path().string();
  struct stat first {
  }, second{}, folder{};
  ASSERT_EQ(::stat(cached.c_str(), &first), 0);
  ASSERT_EQ(::stat(cache().c_str(), &folder), 0);
  EXPECT_EQ(first.st_mode & 0777U, 0600U);
  EXPECT_EQ(folder.st_mode & 0777U, 0700U);

  ASSERT_EQ(sample(*open_samples(packed, cache()).value(), 7), data.substr(7'000, 1000));
  ASSERT_EQ(::stat(cached.c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino);  // not unpacked again
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(cache()), {}), 1);
}

TEST_F(DataFolder, UnpacksAgainWhenTheOriginalChanged) {
  const std::string packed = put_gzip(path("x.gz"), idx(8, {1, 2}, "ab"));
  ASSERT_EQ(sample(*open_samples(packed, cache()).value(), 0), "ab");
  put_gzip(path("x.gz"), idx(8, {1, 2}, "cd"));
  std::filesystem::last_write_time(packed, std::filesystem::last_write_time(packed) + std::chrono::seconds(2));
  EXPECT_EQ(sample(*open_samples(packed, cache()).value(), 0), "cd");
}

TEST_F(DataFolder, RefusesDamagedGzipAndKeepsNothingOfIt) {
  const std::string packed = base::read_file(put_gzip(path("x.gz"), idx(8, {1000, 1}, std::string(1000, 'a')))).value();
  for (size_t size : {size_t{2}, size_t{12}, packed.size() - 9, packed.size() - 1}) {
    const auto samples = open_samples(put("cut.gz", packed.substr(0, size)), cache());
    ASSERT_FALSE(samples) << size;
    EXPECT_EQ(samples.error().code, "E0261");
    EXPECT_THAT(samples.error().where, HasSubstr("cut.gz"));
  }
  std::string flipped = packed;
  flipped[packed.size() - 6] = static_cast<char>(flipped[packed.size() - 6] ^ 1);  // in the checksum
  EXPECT_EQ(open_samples(put("crc.gz", flipped), cache()).error().code, "E0261");
  EXPECT_EQ(open_samples(put_gzip(path("text.gz"), "no array"), cache()).error().code, "E0261");
  EXPECT_TRUE(std::filesystem::is_empty(cache()));
}

TEST_F(DataFolder, FindsTheFilesOfMnist) {
  put_gzip(path("train-images-idx3-ubyte.gz"), idx(8, {2, 1, 1}, "ab"));
  put_gzip(path("train-labels-idx1-ubyte.gz"), idx(8, {2}, "\1\2"));
  put("t10k-images-idx3-ubyte", idx(8, {1, 1, 1}, "c"));
  put("t10k-labels-idx1-ubyte", idx(8, {1}, "\3"));
  const auto data = open_data(folder_, {}, {.cache_folder = cache()});
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.count(), 2);
  EXPECT_EQ(sample(*data->train.inputs.at(0), 1), "b");
  EXPECT_EQ(sample(*data->test.labels, 0), "\3");
}

TEST_F(DataFolder, FindsNpyPairsAndDoesWithoutATestSet) {
  put("x_train.npy", npy("<f4", "False", "(2, 1)", "abcdefgh"));
  put("y_train.npy", npy("<i4", "False", "(2,)", "abcdefgh"));
  const auto data = open_data(folder_, {}, {.cache_folder = cache()});
  ASSERT_TRUE(data) << to_text(data.error());
  EXPECT_EQ(data->train.count(), 2);
  EXPECT_EQ(data->test.count(), 0);
}

TEST_F(DataFolder, SaysWhatItLookedFor) {
  const auto nothing = open_data(folder_, {}, {.cache_folder = cache()});
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, "E0262");
  EXPECT_THAT(to_text(nothing.error()), HasSubstr("looked for x_train.npy (or INPUT_train.npy) with y_train.npy"));
  put("x_train.npy", npy("<f4", "False", "(2, 1)", "abcdefgh"));
  EXPECT_THAT(to_text(open_data(folder_, {}, {.cache_folder = cache()}).error()), HasSubstr("x_train.npy alone"));
}

TEST_F(DataFolder, RefusesUnequalNumbersOfSamplesAndLabels) {
  put("x_train.npy", npy("<f4", "False", "(2, 1)", "abcdefgh"));
  put("y_train.npy", npy("|u1", "False", "(3,)", "abc"));
  const auto data = open_data(folder_, {}, {.cache_folder = cache()});
  ASSERT_FALSE(data);
  EXPECT_EQ(data.error().code, "E0262");
  EXPECT_THAT(data.error().message, HasSubstr("2 samples but 3 labels"));
}

}  // namespace
}  // namespace pantoum::data
