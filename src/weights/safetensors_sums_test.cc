#include "weights/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "base/files.h"
#include "testing/overwrite.h"
#include "testing/temporary_folder.h"

namespace pantoum::weights {
namespace {

using ::testing::HasSubstr;

SafetensorSource numbers(const std::string& name, std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  return {name, base::DType::kF32, {count}, [values](uint64_t at, std::span<std::byte> piece) -> Result<void> {
            std::memcpy(piece.data(), reinterpret_cast<const char*>(values.data()) + at, piece.size());
            return {};
          }};
}

class SafetensorSums : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(write_safetensors(
        path_, {numbers("w", {1, 2, 0.5F}), numbers("bias \"1\"", {0, 0}), numbers("none", {}), numbers("\xff", {3})},
        {{"step", "7"}, {"lr", "0.1"}}));
    whole_ = base::read_file(path_).value();
  }
  // What opening the file with these bytes says: "" where it is taken.
  std::string refusal(const std::string& bytes) const {
    overwrite(path_, bytes);
    const auto opened = open_safetensors(path_);
    return opened ? "" : opened.error().code;
  }
  [[nodiscard]] size_t data_at() const {
    uint64_t length = 0;
    std::memcpy(&length, whole_.data(), sizeof length);
    return 8 + static_cast<size_t>(length);
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.file("w"), whole_;
};

TEST_F(SafetensorSums, AreThereAndRight) {
  const auto file = open_safetensors(path_);
  ASSERT_TRUE(file) << to_text(file.error());
  EXPECT_TRUE(file->has_sums());
  const float w[3] = {1, 2, 0.5F};
  const std::string sums = file->metadata.at(kTensorSums);
  ASSERT_EQ(sums.size(), 4 * kSumDigits);
  const auto place = static_cast<size_t>(file->find("w") - file->tensors.data());
  EXPECT_EQ(sums.substr(place * kSumDigits, kSumDigits),
            base::checksum_text(base::checksum_of(std::as_bytes(std::span(w)))));
  EXPECT_EQ(file->metadata.at("step"), "7");
}

TEST_F(SafetensorSums, FindEveryFlippedBit) {
  for (size_t bit = 0; bit < whole_.size() * 8; ++bit) {
    std::string broken = whole_;
    broken[bit / 8] = static_cast<char>(broken[bit / 8] ^ (1 << bit % 8));
    const std::string code = refusal(broken);
    EXPECT_TRUE(code == "E0240" || code == "E0244") << "bit " << bit << ": '" << code << "'";
    if (bit / 8 >= data_at()) {
      EXPECT_EQ(code, "E0244") << bit;
    }
  }
}

TEST_F(SafetensorSums, FindZerosAndEveryLengthThatIsCut) {
  EXPECT_EQ(refusal(std::string(whole_.size(), '\0')), "E0240");
  std::string zeros = whole_;
  std::fill(zeros.begin() + static_cast<std::ptrdiff_t>(data_at()), zeros.end(), '\0');
  EXPECT_EQ(refusal(zeros), "E0244");
  for (size_t size = 0; size < whole_.size(); ++size) EXPECT_EQ(refusal(whole_.substr(0, size)), "E0240") << size;
}

TEST_F(SafetensorSums, SayWhichTensorIsDamaged) {
  std::string broken = whole_;
  broken[data_at() + 8] ^= 1;  // bias (8 bytes), w
  ASSERT_EQ(refusal(broken), "E0244");
  const auto opened = open_safetensors(path_);
  EXPECT_THAT(opened.error().message, HasSubstr("1 tensor of the file is damaged"));
  EXPECT_THAT(opened.error().notes, ::testing::ElementsAre("'w' is not what was written"));
}

TEST_F(SafetensorSums, OfHalfOfTheTensorsAreNone) {
  auto file = open_safetensors(path_);
  ASSERT_TRUE(file);
  file->metadata[kTensorSums].resize(3 * kSumDigits);
  file->metadata["pantoum.xxh3"] = base::checksum_text(header_sum(file->tensors, data_at(), file->metadata));
  EXPECT_EQ(check_header_sum(*file, data_at()).error().code, "E0244");
  file->metadata.erase("pantoum.xxh3");
  EXPECT_EQ(check_header_sum(*file, data_at()).error().code, "E0244");
}

TEST_F(SafetensorSums, AreNotAskedOfForeignFiles) {
  const std::string header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  std::string file(8, '\0');
  file[0] = static_cast<char>(header.size());
  EXPECT_EQ(refusal(file + header + "abcd"), "");
  EXPECT_FALSE(open_safetensors(path_)->has_sums());
}

TEST_F(SafetensorSums, TheFileBeforeKeepsAnotherName) {
  ASSERT_TRUE(write_safetensors(path_, {numbers("w", {4})}, {}, path_ + ".previous"));
  EXPECT_EQ(base::read_file(path_ + ".previous").value(), whole_);
  EXPECT_EQ(open_safetensors(path_)->tensors.size(), 1U);
  ASSERT_TRUE(write_safetensors(path_, {numbers("w", {5})}, {}, path_ + ".previous"));
  EXPECT_EQ(open_safetensors(path_ + ".previous")->tensors.size(), 1U);
  EXPECT_FALSE(base::read_file(path_ + ".previous.part"));
}

}  // namespace
}  // namespace pantoum::weights
