#include "host/memory_meter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

namespace pantoum::host {
namespace {

constexpr size_t kBytes = 64 << 20;

void* map_touched() {
  void* memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) std::memset(memory, 1, kBytes);
  return memory;
}

TEST(ResidentSet, GrowsByWhatIsTouchedAndTheResetForgetsThePeak) {
  ASSERT_TRUE(reset_resident_peak());
  const ResidentSet before = read_resident_set();
  ASSERT_GT(before.now_bytes, 0U);
  void* memory = map_touched();
  ASSERT_NE(memory, MAP_FAILED);
  const ResidentSet during = read_resident_set();
  ::munmap(memory, kBytes);
  const ResidentSet after = read_resident_set();

  const uint64_t slack = kBytes / 4;  // sanitizers keep memory of their own
  EXPECT_GE(during.now_bytes + slack, before.now_bytes + kBytes);
  EXPECT_LT(after.now_bytes, during.now_bytes - kBytes + slack);
  EXPECT_GE(after.peak_bytes + slack, before.now_bytes + kBytes);
  ASSERT_TRUE(reset_resident_peak());
  EXPECT_LT(read_resident_set().peak_bytes, before.now_bytes + kBytes - slack);
}

// Files of a program and its libraries: what was read and never written.
TEST(ResidentSet, CleanPagesOfFilesAreGivenBackAndReadAgain) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const std::vector<char> written(kBytes, 7);
  ASSERT_EQ(std::fwrite(written.data(), 1, kBytes, file), kBytes);
  ASSERT_EQ(std::fflush(file), 0);
  void* mapped = ::mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, ::fileno(file), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto* bytes = static_cast<const char*>(mapped);
  const auto sum = [&] { return std::accumulate(bytes, bytes + kBytes, uint64_t{0}); };
  EXPECT_EQ(sum(), 7 * kBytes);
  const uint64_t before = read_resident_set().now_bytes;
  give_back_clean_files();
  EXPECT_LT(read_resident_set().now_bytes + kBytes / 2, before);
  EXPECT_EQ(sum(), 7 * kBytes);
  ::munmap(mapped, kBytes);
  std::fclose(file);
}

}  // namespace
}  // namespace pantoum::host
