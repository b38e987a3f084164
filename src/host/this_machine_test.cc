#include "host/this_machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "testing/temporary_folder.h"

namespace pantoum::host {
namespace {

TEST(ThisMachine, TellsTheSameProcessorEachTime) {
  EXPECT_FALSE(processor_name().empty());
  EXPECT_EQ(processor_name(), processor_name());
  EXPECT_EQ(processor_name().find('\n'), std::string::npos);
}

TEST(ThisMachine, HasSomeMemoryFreeAndNoMoreThanThereIs) {
  const auto there = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_GT(available_bytes(), 0U);
  EXPECT_LE(available_bytes(), there);
}

TEST(ThisMachine, HasACacheSmallerThanItsMemory) {
  EXPECT_GE(cache_bytes(), 1U << 14);
  EXPECT_LE(cache_bytes(), uint64_t{1} << 34);
}

void put_cache(const TemporaryFolder& folder, int index, const std::string& level, const std::string& type,
               const std::string& size) {
  const std::filesystem::path of = folder.path() / ("index" + std::to_string(index));
  std::filesystem::create_directories(of);
  std::ofstream(of / "level") << level << "\n";
  std::ofstream(of / "type") << type << "\n";
  std::ofstream(of / "size") << size << "\n";
}

TEST(ThisMachine, ReadsTheLastLevelOfACore) {
  const TemporaryFolder folder;
  put_cache(folder, 0, "1", "Data", "48K");
  put_cache(folder, 1, "1", "Instruction", "64K");
  put_cache(folder, 2, "2", "Unified", "1024K");
  EXPECT_EQ(cache_bytes(folder.path().string()), 1U << 20);
  put_cache(folder, 3, "3", "Unified", "32M");
  EXPECT_EQ(cache_bytes(folder.path().string()), 32U << 20);
}

TEST(ThisMachine, TakesNoCacheFromWhatIsNone) {
  const TemporaryFolder folder;
  const uint64_t by_sysconf = cache_bytes(folder.path().string());
  put_cache(folder, 0, "1", "Instruction", "48K");
  put_cache(folder, 1, "2", "Unified", "many");
  put_cache(folder, 2, "", "Unified", "1K");
  put_cache(folder, 3, "3", "Unified", "99999999999999999M");
  EXPECT_EQ(cache_bytes(folder.path().string()), by_sysconf);
}

void write(const TemporaryFolder& folder, const std::string& path, const std::string& text) {
  const std::filesystem::path at = folder.path() / path;
  std::filesystem::create_directories(at.parent_path());
  std::ofstream(at) << text;
}

TEST(ThisMachine, LeavesWhatItsGroupsLeave) {
  const TemporaryFolder folder;
  const auto left = [&] { return bytes_left_by_groups(folder.file("cgroup"), folder.file("fs")); };
  EXPECT_EQ(left(), UINT64_MAX) << "no groups";
  write(folder, "cgroup", "0::/user/mine\n");
  EXPECT_EQ(left(), UINT64_MAX) << "no files";
  write(folder, "fs/user/mine/memory.max", "max\n");
  write(folder, "fs/user/mine/memory.current", "5\n");
  EXPECT_EQ(left(), UINT64_MAX) << "no limit";
  write(folder, "fs/user/memory.max", "1000\n");
  write(folder, "fs/user/memory.current", "400\n");
  EXPECT_EQ(left(), 600U) << "the parent's";
  write(folder, "fs/memory.max", "900\n");
  write(folder, "fs/memory.current", "890\n");
  EXPECT_EQ(left(), 10U) << "the root's, as in a container";
  write(folder, "fs/user/mine/memory.max", "3\n");
  EXPECT_EQ(left(), 0U) << "more is used than may be";
}

TEST(ThisMachine, KnowsGroupsOfVersionOne) {
  const TemporaryFolder folder;
  write(folder, "cgroup", "12:cpu:/a\n9:memory:/docker/b\nnonsense\n");
  write(folder, "fs/memory/memory.limit_in_bytes", "2000");
  write(folder, "fs/memory/memory.usage_in_bytes", "500");
  EXPECT_EQ(bytes_left_by_groups(folder.file("cgroup"), folder.file("fs")), 1500U);
}

}  // namespace
}  // namespace pantoum::host
