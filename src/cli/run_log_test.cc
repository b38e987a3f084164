#include "cli/run_log.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "testing/temporary_folder.h"

namespace pantoum::cli {
namespace {

class RunLogTest : public ::testing::Test {
 protected:
  void stands(const std::string& text) const { std::ofstream(path_, std::ios::binary) << text; }
  [[nodiscard]] std::string text() const { return base::read_file(path_).value_or("none"); }
  TemporaryFolder folder_;
  std::string path_ = folder_.file("run.jsonl");
};

TEST_F(RunLogTest, TouchesNothingBeforeItBegins) {
  stands("old\n");
  {
    RunLog log(path_, false);
    ASSERT_TRUE(log.write({{"a", 1}}));
    EXPECT_EQ(text(), "old\n");
  }
  EXPECT_EQ(text(), "old\n");
  RunLog log(path_, false);
  ASSERT_TRUE(log.write({{"a", 1}}) && log.begin() && log.write({{"b", 2}}));
  EXPECT_EQ(text(), "{\"a\":1}\n{\"b\":2}\n");
  EXPECT_FALSE(std::filesystem::exists(path_ + ".part"));
}

TEST_F(RunLogTest, IsContinuedAfterItsLastWholeLine) {
  for (const auto& [before, kept] : std::vector<std::pair<std::string, std::string>>{
           {"old\n", "old\n"},
           {"", ""},
           {"old\nhalf", "old\n"},
           {"half", ""},
           {"x\n" + std::string(9000, 'y'), "x\n"},
           {"a\n" + std::string(99999, 'y') + "\nb\nc", "a\n" + std::string(99999, 'y') + "\nb\n"},
           {std::string("a\n\0\0\0{}\nb\n", 10), "a\nb\n"},
           {std::string("a\n{\"b\0\0\0", 8), "a\n"}}) {
    stands(before);
    RunLog log(path_, true);
    ASSERT_TRUE(log.write({{"a", 1}}) && log.begin());
    EXPECT_EQ(text(), kept + "{\"a\":1}\n");
  }
}

TEST_F(RunLogTest, FollowsNoLink) {
  std::ofstream(folder_.file("victim")) << "whole\n";
  std::filesystem::create_symlink("victim", path_);
  EXPECT_EQ(RunLog(path_, true).begin().error().code, "E0901");
  ASSERT_TRUE(RunLog(path_, false).begin());
  EXPECT_FALSE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(base::read_file(folder_.file("victim")).value(), "whole\n");
}

TEST_F(RunLogTest, WaitsAtNoPipe) {
  for (const bool goes_on : {false, true}) {
    const std::string at = path_ + (goes_on ? "" : ".part");
    ASSERT_EQ(::mkfifo(at.c_str(), 0600), 0);
    const auto begun = RunLog(path_, goes_on).begin();
    ASSERT_FALSE(begun);
    EXPECT_EQ(begun.error().code, "E0901");
    EXPECT_TRUE(std::filesystem::is_fifo(at));
    std::filesystem::remove(at);
  }
}

TEST_F(RunLogTest, MayBeADevice) {
  RunLog log("/dev/null", false);
  EXPECT_TRUE(log.begin() && log.write({{"a", 1}}));
}

TEST_F(RunLogTest, AFolderThatIsNotThereIsTold) {
  EXPECT_EQ(RunLog(folder_.file("no/log"), false).begin().error().code, "E0901");
  EXPECT_EQ(RunLog(folder_.path().string(), false).begin().error().code, "E0901");
  EXPECT_EQ(RunLog(folder_.path().string(), true).begin().error().code, "E0901");
}

TEST(RunOutputs, AreFilesOfTheirOwn) {
  EXPECT_TRUE(check_distinct({{"--output", "a"}, {"--log", "b"}, {"--report", ""}, {"--keep-best", ""}}));
  EXPECT_TRUE(check_distinct({{"--output", "/dev/null"}, {"--log", "/dev/null"}}));
  EXPECT_EQ(check_distinct({{"--output", "a"}, {"--log", "./x/../a"}}).error().code, "E0125");
}

}  // namespace
}  // namespace pantoum::cli
