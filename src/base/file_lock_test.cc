#include "base/file_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "testing/temporary_folder.h"

namespace pantoum::base {
namespace {

using ::testing::HasSubstr;

class FileLockTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  std::string path_ = folder_.file("out"), lock_ = path_ + ".lock";
};

TEST_F(FileLockTest, OneHoldsItAndTheOtherIsToldWho) {
  {
    const auto held = FileLock::acquire(path_);
    ASSERT_TRUE(held);
    const auto second = FileLock::acquire(folder_.file("./out"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, "E0907");
    EXPECT_THAT(second.error().message, HasSubstr("process " + std::to_string(::getpid())));
    EXPECT_TRUE(FileLock::acquire(folder_.file("other")));
  }
  EXPECT_FALSE(std::filesystem::exists(lock_));
  EXPECT_TRUE(FileLock::acquire(path_));
}

TEST_F(FileLockTest, ALockThatAKilledProcessLeftIsTaken) {
  std::ofstream(lock_) << "4194304\n";
  EXPECT_TRUE(FileLock::acquire(path_));
}

TEST_F(FileLockTest, NoLinkIsFollowed) {
  std::ofstream(folder_.file("victim")) << "whole";
  std::filesystem::create_symlink("victim", lock_);
  EXPECT_EQ(FileLock::acquire(path_).error().code, "E0901");
  EXPECT_EQ(std::filesystem::file_size(folder_.file("victim")), 5U);
}

TEST_F(FileLockTest, FoldersAreMadeAndAreNoOutputs) {
  EXPECT_TRUE(FileLock::acquire(folder_.file("a/b/out")));
  EXPECT_EQ(FileLock::acquire(folder_.file("a")).error().code, "E0901");
}

TEST_F(FileLockTest, ADeviceHasNone) {
  EXPECT_TRUE(FileLock::acquire("/dev/null"));
  EXPECT_FALSE(std::filesystem::exists("/dev/null.lock"));
}

}  // namespace
}  // namespace pantoum::base
