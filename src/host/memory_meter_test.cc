#include "host/memory_meter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

namespace pantoum::host {
namespace {

constexpr size_t kMeteredBytes = 64 << 20;

void* map_touched() {
  void* memory = ::mmap(nullptr, kMeteredBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) std::memset(memory, 1, kMeteredBytes);
  return memory;
}

TEST(ResidentSet, GrowsByWhatIsTouchedAndTheResetForgetsThePeak) {
  ASSERT_TRUE(reset_resident_peak());
  const ResidentSet before = read_resident_set();
  ASSERT_GT(before.now_bytes, 0U);
  void* memory = map_touched();
  ASSERT_NE(memory, MAP_FAILED);
  const ResidentSet during = read_resident_set();
  ::munmap(memory, kMeteredBytes);
  const ResidentSet after = read_resident_set();

  const uint64_t slack = kMeteredBytes / 4;  // sanitizers keep memory of their own
  EXPECT_GE(during.now_bytes + slack, before.now_bytes + kMeteredBytes);
  EXPECT_LT(after.now_bytes, during.now_bytes - kMeteredBytes + slack);
  EXPECT_GE(after.peak_bytes + slack, before.now_bytes + kMeteredBytes);
  ASSERT_TRUE(reset_resident_peak());
  EXPECT_LT(read_resident_set().peak_bytes, before.now_bytes + kMeteredBytes - slack);
}

TEST(ResidentSet, IsExactToThePage) {
  constexpr size_t kPages = 7;
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* memory = ::mmap(nullptr, 2 * kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  warm_heap();
  warm_stack();
  (void)read_exact_resident_set();
  const ResidentSet before = read_exact_resident_set();
  std::memset(memory, 1, kPages * page);
  const ResidentSet after = read_exact_resident_set();
  EXPECT_EQ((after.now_bytes - after.file_bytes) - (before.now_bytes - before.file_bytes), kPages * page);
  EXPECT_EQ(after.peak_bytes, after.now_bytes);  // the kernel's figure is not as exact
  ::munmap(memory, 2 * kPages * page);
}

// Files of a program and its libraries: what was read and never written.
TEST(ResidentSet, CleanPagesOfFilesAreGivenBackAndReadAgain) {
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  const std::vector<char> written(kMeteredBytes, 7);
  ASSERT_EQ(std::fwrite(written.data(), 1, kMeteredBytes, file), kMeteredBytes);
  ASSERT_EQ(std::fflush(file), 0);
  void* mapped = ::mmap(nullptr, kMeteredBytes, PROT_READ, MAP_PRIVATE, ::fileno(file), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto* bytes = static_cast<const char*>(mapped);
  const auto sum = [&] { return std::accumulate(bytes, bytes + kMeteredBytes, uint64_t{0}); };
  EXPECT_EQ(sum(), 7 * kMeteredBytes);
  const uint64_t before = read_resident_set().now_bytes;
  give_back_clean_files();
  EXPECT_LT(read_resident_set().now_bytes + kMeteredBytes / 2, before);
  EXPECT_EQ(sum(), 7 * kMeteredBytes);
  ::munmap(mapped, kMeteredBytes);
  std::fclose(file);
}

}  // namespace
}  // namespace pantoum::host
