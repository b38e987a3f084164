#include "base/output_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "testing/temporary_folder.h"

namespace pantoum::base {
namespace {

namespace fs = std::filesystem;

TEST(OutputFolder, WritesAndReplacesFilesInFoldersThatItMakes) {
  const TemporaryFolder scratch;
  const auto folder = OutputFolder::open(scratch.file("new/project/"));
  ASSERT_TRUE(folder);
  EXPECT_TRUE(folder->is_empty());
  ASSERT_TRUE(folder->write("a/b/c.txt", "one"));
  ASSERT_TRUE(folder->write("a/b/c.txt", "two"));
  EXPECT_EQ(*read_file(scratch.file("new/project/a/b/c.txt")), "two");
  EXPECT_TRUE(folder->has("a/b/c.txt"));
  EXPECT_FALSE(folder->is_empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.file("new/project/a/b")), {}), 1);  // no part is left
}

TEST(OutputFolder, RefusesNamesThatLeaveIt) {
  const TemporaryFolder scratch;
  const auto folder = OutputFolder::open(scratch.file("project"));
  ASSERT_TRUE(folder);
  const std::string with_nul("x\0y", 3);
  for (const std::string& name :
       std::vector<std::string>{"", "..", ".", "../x", "a/../../x", "/abs", "a//b", "a/", "a/.", with_nul}) {
    const auto written = folder->write(name, "text");
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().code, "E0901");
  }
  EXPECT_FALSE(fs::exists(scratch.file("x")));
}

TEST(OutputFolder, FollowsNoLink) {
  const TemporaryFolder scratch;
  fs::create_directories(scratch.file("elsewhere"));
  ASSERT_TRUE(write_file_atomically(scratch.file("elsewhere/kept"), "kept"));
  const auto folder = OutputFolder::open(scratch.file("project"));
  ASSERT_TRUE(folder);
  fs::create_directory_symlink(scratch.file("elsewhere"), scratch.file("project/model"));
  fs::create_symlink(scratch.file("elsewhere/kept"), scratch.file("project/file"));
  EXPECT_FALSE(folder->write("model/plan.bin", "text"));
  ASSERT_TRUE(folder->write("file", "text"));
  EXPECT_FALSE(fs::is_symlink(scratch.file("project/file")));
  EXPECT_EQ(*read_file(scratch.file("elsewhere/kept")), "kept");
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.file("elsewhere")), {}), 1);
}

TEST(OutputFolder, IsNoLinkItself) {
  const TemporaryFolder scratch;
  fs::create_directories(scratch.file("elsewhere"));
  fs::create_directory_symlink(scratch.file("elsewhere"), scratch.file("link"));
  for (const char* name : {"link", "link/"}) {
    const auto folder = OutputFolder::open(scratch.file(name));
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().code, "E0901");
  }
  EXPECT_TRUE(OutputFolder::open(scratch.file("link/inside")));  // a parent may be one
  ASSERT_TRUE(write_file_atomically(scratch.file("file"), "kept"));
  EXPECT_FALSE(OutputFolder::open(scratch.file("file")));
}

}  // namespace
}  // namespace pantoum::base
