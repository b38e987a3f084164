#include "base/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "testing/temporary_folder.h"

namespace pantoum::base {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class MappedFiles : public testing::Test {
 protected:
  std::string put(const std::string& text) {
    std::ofstream(folder_.file("f"), std::ios::binary) << text;
    return folder_.file("f");
  }
  TemporaryFolder folder_;
};

TEST_F(MappedFiles, HaveTheBytesOfTheFile) {
  const auto file = MappedFile::open(put("0123456789"), 10);
  ASSERT_TRUE(file);
  EXPECT_EQ(text_of((*file)->bytes()), "0123456789");
  (*file)->give_back();
  EXPECT_EQ(text_of((*file)->bytes()), "0123456789");
  std::array<std::byte, 4> part{};
  ASSERT_TRUE((*file)->read(3, part));
  EXPECT_EQ(text_of(part), "3456");
  EXPECT_EQ((*file)->read(7, part).error().code, "E0201");
  EXPECT_TRUE((*MappedFile::open(put(""), 10))->bytes().empty());
}

TEST_F(MappedFiles, AreNoFoldersAndNoLargerThanAsked) {
  EXPECT_THAT(MappedFile::open(put("0123456789"), 9).error().message, testing::HasSubstr("more than 9 bytes"));
  EXPECT_EQ(MappedFile::open(folder_.file("none"), 9).error().code, "E0201");
  EXPECT_THAT(MappedFile::open(put("0123") + std::string("\0x", 2), 9).error().message,
              testing::HasSubstr("a byte of 0"));
  EXPECT_THAT(MappedFile::open(folder_.file(""), 9).error().message, testing::HasSubstr("no regular file"));
}

TEST_F(MappedFiles, ThatBecameShorterAreToldOf) {
  const auto file = MappedFile::open(put("0123456789"), 10);
  put("0123");
  std::array<std::byte, 4> part{};
  EXPECT_THAT((*file)->read(3, part).error().message, testing::HasSubstr("became shorter"));
}

}  // namespace
}  // namespace pantoum::base
