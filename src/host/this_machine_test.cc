#include "host/this_machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

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

}  // namespace
}  // namespace pantoum::host
