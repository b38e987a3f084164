#include "train/memory_meter.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace pantoum::train {
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

TEST(ResidentSet, WarmingMakesNothingSmaller) {
  const uint64_t before = read_resident_set().now_bytes;
  warm_code_and_stack(reinterpret_cast<const void*>(&read_resident_set));
  EXPECT_GE(read_resident_set().now_bytes + (1 << 20), before);
}

}  // namespace
}  // namespace pantoum::train
