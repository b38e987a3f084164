#include "base/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/owned_file.h"
#include "testing/temporary_folder.h"

namespace pantoum::base {
namespace {

class Outputs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(victim_) << "whole";
    std::filesystem::create_symlink(victim_, path_);
  }
  void expect_replaced() const {
    EXPECT_FALSE(std::filesystem::is_symlink(path_));
    EXPECT_EQ(read_file(path_).value(), "new");
    EXPECT_EQ(read_file(victim_).value(), "whole");
  }
  TemporaryFolder folder_;
  std::string path_ = folder_.file("out"), victim_ = folder_.file("victim");
};

TEST_F(Outputs, TakeThePlaceOfALink) {
  ASSERT_TRUE(write_file_atomically(path_, "new"));
  expect_replaced();
}

TEST_F(Outputs, WrittenInPiecesTakeThePlaceOfALink) {
  auto file = AtomicFile::create(path_, 0644);
  ASSERT_TRUE(file && file->append(std::as_bytes(std::span("new", 3))) && file->commit());
  expect_replaced();
}

TEST_F(Outputs, AreNotWrittenToADeviceBehindALink) {
  std::filesystem::remove(path_);
  std::filesystem::create_symlink("/dev/null", path_);
  ASSERT_TRUE(write_file_atomically(path_, "new"));
  expect_replaced();
  EXPECT_TRUE(is_special_file("/dev/null"));
  EXPECT_TRUE(is_special_file("/dev/stdout"));
}

TEST_F(Outputs, AreRewrittenBeforeTheyAppear) {
  auto file = AtomicFile::create(path_, 0644);
  ASSERT_TRUE(file && file->append(std::as_bytes(std::span("old", 3))));
  ASSERT_TRUE(file->rewrite(0, std::as_bytes(std::span("new", 3))) && file->commit(folder_.file("kept")));
  expect_replaced();
  EXPECT_FALSE(std::filesystem::exists(folder_.file("kept"))) << "a link is nothing to keep";
}

}  // namespace
}  // namespace pantoum::base
