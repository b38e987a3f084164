#include "ini/bin_weights.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "base/files.h"
#include "testing/temporary_folder.h"

namespace pantoum::ini {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const std::vector<StoredTensor> kStored = {
    {"a.weight", {2, 3}}, {"n.running_mean", {2}, true}, {"n.weight", {2}}, {"a.bias", {3}}};

class BinWeights : public ::testing::Test {
 protected:
  TemporaryFolder folder_;

  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.file(name), std::ios::binary) << bytes;
    return folder_.file(name);
  }
  // Safetensors of the tensors `names`, whose elements are those that `first` begins with, counted up by 1.
  std::string put_tensors(const std::vector<std::pair<StoredTensor, float>>& tensors,
                          const std::map<std::string, std::string>& metadata = {}) const {
    std::vector<std::string> bytes;
    std::vector<weights::SafetensorSource> sources;
    for (const auto& [tensor, first] : tensors) {
      std::string& made = bytes.emplace_back();
      int64_t count = 1;
      for (const int64_t extent : tensor.shape) count *= extent;
      for (int64_t each = 0; each < count; ++each) {
        const float value = first + static_cast<float>(each);
        made.append(reinterpret_cast<const char*>(&value), sizeof(value));
      }
    }
    for (size_t each = 0; each < tensors.size(); ++each)
      sources.push_back({tensors[each].first.name, base::DType::kF32, tensors[each].first.shape,
                         [&bytes, each](uint64_t at, std::span<std::byte> piece) -> Result<void> {
                           std::memcpy(piece.data(), bytes[each].data() + at, piece.size());
                           return {};
                         }});
    EXPECT_TRUE(weights::write_safetensors(folder_.file("w.safetensors"), sources, metadata));
    return folder_.file("w.safetensors");
  }
  static std::vector<float> values_of(const weights::SafetensorFile& file, const std::string& name) {
    const weights::SafetensorEntry* const entry = file.find(name);
    std::vector<float> values(entry == nullptr ? 0 : entry->bytes / 4);
    if (entry != nullptr) {
      EXPECT_TRUE(weights::read_tensor(file, *entry, 0, std::as_writable_bytes(std::span(values))));
    }
    return values;
  }
  static std::vector<float> floats(const std::string& bytes, size_t from, size_t count) {
    std::vector<float> values(count);
    std::memcpy(values.data(), bytes.data() + from * 4, count * 4);
    return values;
  }
  Result<std::string> written(const std::string& from) const {
    PANTOUM_ASSIGN(const weights::SafetensorFile file, weights::open_safetensors(from));
    PANTOUM_TRY(write_bin(folder_.file("w.bin"), kStored, file));
    return base::read_file(folder_.file("w.bin"));
  }
  std::vector<std::pair<StoredTensor, float>> tensors() const {
    return {{kStored[3], 400}, {kStored[0], 100}, {kStored[2], 300}, {kStored[1], 200}};
  }
};

TEST_F(BinWeights, HoldsTheTensorsInTheirOrderThenEpochAndIteration) {
  const Result<std::string> bytes = written(put_tensors(tensors(), {{"epoch", "3"}, {"step", "70000"}}));
  ASSERT_TRUE(bytes) << to_text(bytes.error());
  ASSERT_EQ(bytes->size(), 13U * 4 + 8);
  EXPECT_THAT(floats(*bytes, 0, 13), ElementsAre(100, 101, 102, 103, 104, 105, 200, 201, 300, 301, 400, 401, 402));
  EXPECT_EQ(bytes->substr(52), std::string("\x03\0\0\0\x70\x11\x01\0", 8));
}

TEST_F(BinWeights, HoldsAdamsMomentsByTurnsWithoutThoseOfStatistics) {
  auto with = tensors();
  float first = 1000;
  for (const StoredTensor& tensor : kStored)
    if (!tensor.is_statistic)
      for (const char* which : {"adam_v", "adam_m"})
        with.emplace_back(StoredTensor{fmt::format("optim.{}.{}", which, tensor.name), tensor.shape}, first += 100);
  const Result<std::string> bytes = written(put_tensors(with));
  ASSERT_TRUE(bytes) << to_text(bytes.error());
  ASSERT_EQ(bytes->size(), 13U * 4 + 4 + 22U * 4 + 8);
  EXPECT_EQ(bytes->substr(52, 4), "adam");
  EXPECT_THAT(floats(*bytes, 14, 22),
              ElementsAre(1200, 1201, 1202, 1203, 1204, 1205, 1100, 1101, 1102, 1103, 1104, 1105,  // a.weight: m, v
                          1400, 1401, 1300, 1301, 1600, 1601, 1602, 1500, 1501, 1502));
  const Result<weights::SafetensorFile> again = open_bin(folder_.file("w.bin"), kStored);
  ASSERT_TRUE(again) << to_text(again.error());
  EXPECT_EQ(again->tensors.size(), 4U + 6);
  EXPECT_EQ(values_of(*again, "optim.adam_v.n.weight"), (std::vector<float>{1300, 1301}));
  EXPECT_THAT(again->metadata, ElementsAre(Pair("epoch", "0"), Pair("step", "0")));
  const std::string first_bytes = *bytes;
  ASSERT_TRUE(write_bin(folder_.file("again.bin"), kStored, *again));
  EXPECT_EQ(*base::read_file(folder_.file("again.bin")), first_bytes);
}

TEST_F(BinWeights, HoldMomentsOfWhatTheFileTrains) {
  std::vector<StoredTensor> stored = kStored;
  stored[0].is_frozen = true;
  auto with = tensors();
  for (const char* which : {"adam_m", "adam_v"})  // n.weight is frozen by the run
    with.emplace_back(StoredTensor{fmt::format("optim.{}.a.bias", which), {3}}, 700);
  const Result<weights::SafetensorFile> from =
      weights::open_safetensors(put_tensors(with, {{"epoch", "1"}, {"step", "9"}}));
  ASSERT_TRUE(from && write_bin(folder_.file("w.bin"), stored, *from));
  const Result<weights::SafetensorFile> read = open_bin(folder_.file("w.bin"), stored);
  ASSERT_TRUE(read) << to_text(read.error());
  EXPECT_EQ(read->find("optim.adam_m.a.weight"), nullptr);
  EXPECT_EQ(values_of(*read, "optim.adam_m.n.weight"), (std::vector<float>{0, 0}));
  EXPECT_EQ(values_of(*read, "optim.adam_v.a.bias"), (std::vector<float>{700, 701, 702}));
  EXPECT_EQ(read->metadata.at("step"), "9");
}

TEST_F(BinWeights, AreReadWithNamesAndShapes) {
  std::string bytes;
  for (int each = 0; each < 13; ++each) {
    const auto value = static_cast<float>(each);
    bytes.append(reinterpret_cast<const char*>(&value), 4);
  }
  for (const size_t more : {0U, 8U, 92U, 100U}) {
    const std::string behind = (more > 8 ? "adam" : "") + std::string(more > 8 ? more - 4 : more, 'x');
    const Result<weights::SafetensorFile> file = open_bin(put("w.bin", bytes + behind), kStored);
    ASSERT_TRUE(file) << more << to_text(file.error());
    ASSERT_EQ(file->tensors.size(), more > 8 ? 10U : 4U);
    EXPECT_EQ(file->metadata.contains("step"), more % 92 == 8);
    const weights::SafetensorEntry* const entry = file->find("n.weight");
    ASSERT_NE(entry, nullptr);
    EXPECT_THAT(entry->shape, ElementsAre(2));
    std::array<float, 2> values{};
    ASSERT_TRUE(weights::read_tensor(*file, *entry, 0, std::as_writable_bytes(std::span(values))));
    EXPECT_THAT(values, ElementsAre(8, 9));
  }
}

TEST_F(BinWeights, OtherSizesAreRefused) {
  for (const size_t size : {0U, 4U, 51U, 53U, 59U, 61U, 143U, 151U, 153U, 1000U}) {
    const Result<weights::SafetensorFile> file = open_bin(put("w.bin", std::string(size, 'x')), kStored);
    ASSERT_FALSE(file) << size;
    EXPECT_EQ(file.error().code, "E0240");
    EXPECT_THAT(file.error().message,
                HasSubstr(fmt::format("the file has {} bytes; the weights of this model have 60, or 152", size)));
  }
  EXPECT_EQ(open_bin(folder_.file("absent.bin"), kStored).error().code, "E0201");
  EXPECT_THAT(to_text(open_bin(put("w.bin", std::string(152, 'x')), kStored).error()), HasSubstr("the letters"));
}

TEST_F(BinWeights, AreWrittenOfWholeSetsAlone) {
  auto some = tensors();
  some.pop_back();
  EXPECT_THAT(to_text(written(put_tensors(some)).error()), HasSubstr("E0242"));
  auto other = tensors();
  other[1].first.shape = {2, 2};
  EXPECT_THAT(to_text(written(put_tensors(other)).error()), HasSubstr("'a.weight' is missing, or has another shape"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("w.bin")));
}

}  // namespace
}  // namespace pantoum::ini
