#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "host/engine.h"

namespace pantoum::host {
namespace {

// Holds for pages of any size: kernels for Raspberry Pi 5 have pages of 16 KiB, others of 64 KiB.
TEST(Arena, BeginsAtItsAlignmentAndAtAPage) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const uint64_t align : {uint64_t{1}, uint64_t{64}, uint64_t{4096}, uint64_t{16384}, uint64_t{65536}, 4 * page})
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, page - 1, page + 1, 5 * page}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes at " << align << ", pages of " << page);
      const Result<Arena> arena = Arena::map(bytes, align);
      ASSERT_TRUE(arena) << arena.error().message;
      EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->data()) % align, 0U);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(arena->data()) % page, 0U);
      std::memset(arena->data(), 1, bytes);
    }
}

TEST(Arena, IsProtectedToItsLastPage) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  Result<Arena> arena = Arena::map(2 * page + 1, 64);
  ASSERT_TRUE(arena) << arena.error().message;
  const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(zeros, 0);
  for (const bool writable : {false, true}) {
    const Result<void> done = arena->protect(writable);
    EXPECT_TRUE(done) << done.error().message;
    for (const uint64_t at :
         {uint64_t{0}, 2 * page, 3 * page - 1}) {  // the kernel writes there, or says that it may not
      const ssize_t got = ::read(zeros, static_cast<std::byte*>(arena->data()) + at, 1);
      EXPECT_EQ(got, writable ? 1 : -1) << at;
      if (!writable) {
        EXPECT_EQ(errno, EFAULT) << at;
      }
    }
  }
  ::close(zeros);
}

TEST(Arena, AskedForMoreThanThereIsSaysSo) {
  const Result<Arena> arena = Arena::map(uint64_t{1} << 62, 64);
  ASSERT_FALSE(arena);
  EXPECT_EQ(arena.error().code, "E0906");
}

}  // namespace
}  // namespace pantoum::host
