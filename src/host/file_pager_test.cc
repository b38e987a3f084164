#include "host/file_pager.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host/sealed_blocks.h"
#include "testing/binary_plans.h"
#include "testing/temporary_folder.h"

namespace pantoum::host {
namespace {

constexpr size_t kBlock = 4096;

// Memory aligned for direct I/O.
class Buffer {
 public:
  explicit Buffer(size_t bytes) : bytes_(bytes), data_(static_cast<unsigned char*>(std::aligned_alloc(kBlock, bytes))) {
    std::memset(data_, 0, bytes);
  }
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  unsigned char* at(size_t offset) { return data_ + offset; }
  void fill(size_t offset, size_t bytes, unsigned seed) {
    std::minstd_rand random(seed);
    for (size_t byte = 0; byte < bytes; ++byte) data_[offset + byte] = static_cast<unsigned char>(random());
  }
  [[nodiscard]] size_t size() const { return bytes_; }

 private:
  size_t bytes_;
  unsigned char* data_;
};

struct Way {
  PagerBackend backend;
  bool encrypt;
};

class EveryBackend : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam().backend != PagerBackend::kUring) return;
    const auto pager = FilePager::open({.path = "/var/tmp", .bytes = kBlock, .backend = PagerBackend::kUring});
    if (!pager) GTEST_SKIP() << "no io_uring here: " << pager.error().message;
  }
  [[nodiscard]] static std::unique_ptr<FilePager> open(uint64_t bytes, bool direct = true, uint32_t align = kBlock) {
    auto pager = FilePager::open({.path = "/var/tmp",
                                  .bytes = bytes,
                                  .direct = direct,
                                  .backend = GetParam().backend,
                                  .align_bytes = align,
                                  .encrypt = GetParam().encrypt});
    EXPECT_TRUE(pager.has_value()) << pager.error().message;
    return std::move(*pager);
  }
};

INSTANTIATE_TEST_SUITE_P(Pagers, EveryBackend,
                         testing::Values(Way{PagerBackend::kUring, false}, Way{PagerBackend::kUring, true},
                                         Way{PagerBackend::kThreads, false}, Way{PagerBackend::kThreads, true}),
                         [](const auto& way) {
                           const std::string backend =
                               way.param.backend == PagerBackend::kUring ? "io_uring" : "threads";
                           return backend + (way.param.encrypt ? "_encrypted" : "");
                         });

TEST_P(EveryBackend, GivesBackWhatItWasGiven) {
  constexpr size_t kCount = 32;
  constexpr size_t kBytes = 5 * kBlock;
  const auto pager = open(kCount * kBytes);
  const pt_pager* c = pager->interface();
  Buffer out(kCount * kBytes);
  Buffer in(kCount * kBytes);
  for (size_t part = 0; part < kCount; ++part) {
    out.fill(part * kBytes, kBytes, static_cast<unsigned>(part + 1));
    ASSERT_EQ(c->write(c->context, part * kBytes, out.at(part * kBytes), kBytes, static_cast<uint32_t>(part + 1), 0),
              PT_OK);
  }
  for (size_t part = 0; part < kCount; ++part) {  // each read behind its own write, none waited for
    const auto after = static_cast<uint32_t>(part + 1);
    ASSERT_EQ(c->read(c->context, part * kBytes, in.at(part * kBytes), kBytes, after + kCount, after), PT_OK);
  }
  for (uint32_t ticket = 1; ticket <= 2 * kCount; ++ticket) EXPECT_EQ(c->wait(c->context, ticket), PT_OK);
  EXPECT_EQ(std::memcmp(out.at(0), in.at(0), out.size()), 0);
  EXPECT_EQ(pager->stats().bytes_written, out.size());
  EXPECT_EQ(pager->stats().bytes_read, in.size());
}

TEST_P(EveryBackend, HoldsATransferBackUntilTheOneBeforeHasEnded) {
  constexpr size_t kBytes = 256 * kBlock;
  const auto pager = open(3 * kBytes);
  const pt_pager* c = pager->interface();
  Buffer arena(kBytes);
  Buffer other(kBytes);
  Buffer check(kBytes);
  other.fill(0, kBytes, 99);
  ASSERT_EQ(c->write(c->context, kBytes, other.at(0), kBytes, 1, 0), PT_OK);
  ASSERT_EQ(c->wait(c->context, 1), PT_OK);
  for (uint32_t round = 0; round < 20; ++round) {
    arena.fill(0, kBytes, round + 1);
    std::memcpy(check.at(0), arena.at(0), kBytes);
    const uint32_t ticket = 2 + 3 * round;
    // The same memory is written out, then filled with something else, without the caller waiting in between.
    ASSERT_EQ(c->write(c->context, 0, arena.at(0), kBytes, ticket, 0), PT_OK);
    ASSERT_EQ(c->read(c->context, kBytes, arena.at(0), kBytes, ticket + 1, ticket), PT_OK);
    ASSERT_EQ(c->wait(c->context, ticket + 1), PT_OK);
    ASSERT_EQ(c->wait(c->context, ticket), PT_OK);
    EXPECT_EQ(std::memcmp(arena.at(0), other.at(0), kBytes), 0);
    ASSERT_EQ(c->read(c->context, 0, arena.at(0), kBytes, ticket + 2, 0), PT_OK);
    ASSERT_EQ(c->wait(c->context, ticket + 2), PT_OK);
    ASSERT_EQ(std::memcmp(arena.at(0), check.at(0), kBytes), 0) << "the second transfer overtook the first";
  }
}

TEST_P(EveryBackend, LeavesTheBytesOfAWriteAloneOnceItHasEnded) {
  constexpr size_t kBytes = 256 * kBlock;
  const auto pager = open(kBytes);
  const pt_pager* c = pager->interface();
  Buffer arena(kBytes), check(kBytes);
  for (uint32_t round = 0; round < 20; ++round) {
    arena.fill(0, kBytes, round + 1);
    std::memcpy(check.at(0), arena.at(0), kBytes);
    const uint32_t ticket = 1 + 2 * round;
    ASSERT_EQ(c->write(c->context, 0, arena.at(0), kBytes, ticket, 0), PT_OK);
    ASSERT_EQ(c->wait(c->context, ticket), PT_OK);
    std::memset(arena.at(0), 0xEE, kBytes);
    ASSERT_EQ(c->read(c->context, 0, arena.at(0), kBytes, ticket + 1, 0), PT_OK);
    ASSERT_EQ(c->wait(c->context, ticket + 1), PT_OK);
    ASSERT_EQ(std::memcmp(arena.at(0), check.at(0), kBytes), 0);
  }
}

// x is written out, and what overwrites it in place is computed at once; then x comes back.
TEST_P(EveryBackend, HasWrittenWhatAComputeOverwritesInPlace) {
  using namespace runtime_test;
  constexpr uint64_t kBytes = 256 * kBlock;
  constexpr int64_t kFloats = kBytes / sizeof(float);
  BinaryPlan plan{
      .arena_bytes = 3 * kBytes,
      .storage_bytes = kBytes,
      .align_bytes = kBlock,
      .tensors = {tensor("x", Home::kRam, 0, 0), tensor("y"), tensor("z", Home::kRam, 2 * kBytes)},
      .ops = {op(Kind::k_relu, {0}, {1}), op(Kind::k_add, {0, 1}, {2})},
      .programs = {{"train", {page_out(0), compute(0, {0}), page_in(0, kBytes), compute(1, {2 * kBytes})}}}};
  for (BinaryTensor& each : plan.tensors) each.bytes = kBytes, each.type = vector_of(kFloats);
  for (BinaryOp& each : plan.ops)
    for (auto* operands : {&each.inputs, &each.outputs})
      for (BinaryOperand& operand : *operands) operand.type = vector_of(kFloats);
  const std::vector<std::byte> bytes = encoded(plan);
  pt_plan opened{};
  ASSERT_EQ(pt_plan_open(&opened, bytes.data(), bytes.size()), PT_OK);
  std::vector<std::max_align_t> memory(pt_session_bytes(&opened) / sizeof(std::max_align_t) + 1);
  Buffer arena(3 * kBytes);
  const auto pager = open(kBytes);
  pt_session* session = nullptr;
  ASSERT_EQ(
      pt_session_open(&session, &opened, memory.data(), arena.at(0), nullptr, kernels(), pager->interface(), nullptr),
      PT_OK);
  auto* x = reinterpret_cast<float*>(arena.at(0));
  const auto* z = reinterpret_cast<const float*>(arena.at(2 * kBytes));
  const pt_scalars scalars = {1, 0, 1};
  for (int round = 1; round <= 5; ++round) {
    std::fill(x, x + kFloats, static_cast<float>(-round));  // relu makes 0 of it: z is x
    ASSERT_EQ(pt_run(session, 0, &scalars), PT_OK);
    ASSERT_EQ(std::count(z, z + kFloats, static_cast<float>(-round)), kFloats)
        << "overwritten while it was written out";
  }
}

TEST_P(EveryBackend, WaitsForWhatWasWaitedForAlready) {
  const auto pager = open(kBlock);
  const pt_pager* c = pager->interface();
  Buffer arena(kBlock);
  ASSERT_EQ(c->write(c->context, 0, arena.at(0), kBlock, 7, 0), PT_OK);
  EXPECT_EQ(c->wait(c->context, 7), PT_OK);
  EXPECT_EQ(c->wait(c->context, 7), PT_OK);
  EXPECT_EQ(c->wait(c->context, 3), PT_OK);
}

TEST_P(EveryBackend, RefusesMoreThanItHasRoomFor) {
  Buffer arena(kBlock);  // outlives the pager, which ends what is open
  const auto pager = open(kBlock);
  const pt_pager* c = pager->interface();
  for (uint32_t ticket = 1; ticket <= PT_MAX_IN_FLIGHT; ++ticket)
    ASSERT_EQ(c->write(c->context, 0, arena.at(0), kBlock, ticket, 0), PT_OK);
  EXPECT_EQ(c->write(c->context, 0, arena.at(0), kBlock, PT_MAX_IN_FLIGHT + 1, 0), PT_E_STATE);
  EXPECT_EQ(c->wait(c->context, 1), PT_OK);
  EXPECT_EQ(c->write(c->context, 0, arena.at(0), kBlock, PT_MAX_IN_FLIGHT + 1, 0), PT_OK);
}

TEST_P(EveryBackend, RefusesTransfersBeyondTheFile) {
  const auto pager = open(2 * kBlock);
  const pt_pager* c = pager->interface();
  Buffer arena(4 * kBlock);
  EXPECT_EQ(c->write(c->context, kBlock, arena.at(0), 2 * kBlock, 1, 0), PT_E_ARGUMENT);
  EXPECT_EQ(c->read(c->context, UINT64_MAX - kBlock + 1, arena.at(0), 2 * kBlock, 1, 0), PT_E_ARGUMENT);
}

TEST_P(EveryBackend, ServesSmallTransfersThroughThePageCache) {
  const auto pager = open(256, true, 64);
  const pt_pager* c = pager->interface();
  Buffer arena(kBlock);
  arena.fill(0, 64, 5);
  ASSERT_EQ(c->write(c->context, 64, arena.at(0), 64, 1, 0), PT_OK);
  ASSERT_EQ(c->read(c->context, 64, arena.at(64), 64, 2, 1), PT_OK);
  EXPECT_EQ(c->wait(c->context, 2), PT_OK);
  EXPECT_EQ(c->wait(c->context, 1), PT_OK);
  EXPECT_EQ(std::memcmp(arena.at(0), arena.at(64), 64), 0);
  EXPECT_EQ(pager->stats().buffered == 0, pager->direct_io());
}

TEST_P(EveryBackend, EndsOpenTransfersWhenDestroyed) {
  Buffer arena(64 * kBlock);
  auto pager = open(64 * kBlock);
  const pt_pager* c = pager->interface();
  ASSERT_EQ(c->write(c->context, 0, arena.at(0), 64 * kBlock, 1, 0), PT_OK);
  ASSERT_EQ(c->read(c->context, 0, arena.at(0), 64 * kBlock, 2, 1), PT_OK);
  pager.reset();
  arena.fill(0, 64 * kBlock, 3);  // nobody writes here any more (the sanitizers would see it)
}

size_t cached_pages(int fd, size_t bytes) {
  void* mapped = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) return SIZE_MAX;
  std::vector<unsigned char> resident(bytes / kBlock);
  const int failed = mincore(mapped, bytes, resident.data());
  munmap(mapped, bytes);
  if (failed != 0) return SIZE_MAX;
  size_t count = 0;
  for (const unsigned char page : resident) count += page & 1U;
  return count;
}

TEST_P(EveryBackend, LeavesNothingInThePageCache) {
  constexpr size_t kBytes = 64 * kBlock;
  const auto pager = open(kBytes);
  if (!pager->direct_io()) GTEST_SKIP() << "no direct I/O on this file system";
  const pt_pager* c = pager->interface();
  Buffer arena(kBytes);
  arena.fill(0, kBytes, 1);
  ASSERT_EQ(c->write(c->context, 0, arena.at(0), kBytes, 1, 0), PT_OK);
  ASSERT_EQ(c->read(c->context, 0, arena.at(0), kBytes, 2, 1), PT_OK);
  ASSERT_EQ(c->wait(c->context, 1), PT_OK);
  ASSERT_EQ(c->wait(c->context, 2), PT_OK);
  EXPECT_EQ(pager->stats().buffered, 0U);
  EXPECT_EQ(cached_pages(pager->fd(), kBytes), 0U);
}

TEST_P(EveryBackend, TellsThatBufferedTransfersAreCached) {  // the control of the test above
  constexpr size_t kBytes = 64 * kBlock;
  const auto pager = open(kBytes, false);
  const pt_pager* c = pager->interface();
  Buffer arena(kBytes);
  ASSERT_EQ(c->write(c->context, 0, arena.at(0), kBytes, 1, 0), PT_OK);
  ASSERT_EQ(c->wait(c->context, 1), PT_OK);
  EXPECT_FALSE(pager->direct_io());
  EXPECT_EQ(pager->stats().buffered, 1U);
  EXPECT_EQ(cached_pages(pager->fd(), kBytes), kBytes / kBlock);
}

TEST_P(EveryBackend, IsPrivateUnlinkedAndAllocated) {
  const auto pager = open(16 * kBlock);
  struct stat found = {};
  ASSERT_EQ(fstat(pager->fd(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777U, 0600U);
  EXPECT_EQ(found.st_nlink, 0U);
  EXPECT_EQ(found.st_size, static_cast<off_t>(16 * kBlock));
  EXPECT_GE(found.st_blocks * 512, static_cast<off_t>(16 * kBlock));
}

TEST_P(EveryBackend, ReportsAnIoErrorFromWait) {
  const auto pager = open(4 * kBlock);
  const pt_pager* c = pager->interface();
  Buffer arena(4 * kBlock);
  ASSERT_EQ(c->write(c->context, 0, arena.at(0), 4 * kBlock, 1, 0), PT_OK);
  ASSERT_EQ(c->wait(c->context, 1), PT_OK);
  ASSERT_EQ(ftruncate(pager->fd(), kBlock), 0);  // as if the medium had lost its end
  ASSERT_EQ(c->read(c->context, 2 * kBlock, arena.at(0), 2 * kBlock, 2, 0), PT_OK);
  EXPECT_EQ(c->wait(c->context, 2), PT_E_IO);
  ASSERT_EQ(c->write(c->context, 0, arena.at(0), 4 * kBlock, 3, 0), PT_OK);
  EXPECT_EQ(c->wait(c->context, 3), PT_OK);
}

TEST_P(EveryBackend, ReportsAFullDiskFromWait) {
  const auto pager = open(64 * kBlock);
  const pt_pager* c = pager->interface();
  Buffer arena(64 * kBlock);
  ASSERT_EQ(ftruncate(pager->fd(), 0), 0);  // what was allocated is gone, and the limit keeps it from coming back
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {.rlim_cur = kBlock, .rlim_max = before.rlim_max};
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const pt_status taken = c->write(c->context, 32 * kBlock, arena.at(0), 32 * kBlock, 1, 0);
  const pt_status status = c->wait(c->context, 1);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(taken, PT_OK);
  EXPECT_EQ(status, PT_E_FULL);
}

// Before anything is allocated: other programs must not find the disk full meanwhile.
TEST(FilePagerOpen, TellsAtOnceThatTheDiskIsTooSmall) {
  struct statfs system = {};
  ASSERT_EQ(statfs("/var/tmp", &system), 0);
  const uint64_t needed = (static_cast<uint64_t>(system.f_blocks) * 2 + 1) * static_cast<uint64_t>(system.f_bsize);
  std::atomic<bool> done = false;
  uint64_t least_free = static_cast<uint64_t>(system.f_bavail);
  std::thread watcher([&] {
    for (struct statfs now = {}; !done; std::this_thread::yield())
      if (statfs("/var/tmp", &now) == 0) least_free = std::min(least_free, static_cast<uint64_t>(now.f_bavail));
  });
  const auto pager = FilePager::open({.path = "/var/tmp", .bytes = needed});
  done = true;
  watcher.join();
  EXPECT_GT(least_free, static_cast<uint64_t>(system.f_bavail) / 2);
  ASSERT_FALSE(pager.has_value());
  EXPECT_EQ(pager.error().code, "E0902");
  const uint64_t told = SealedBlocks(needed, {}).file_bytes();  // with the table of seals
  EXPECT_NE(pager.error().message.find(std::to_string(told)), std::string::npos);
}

TEST(FilePagerOpen, TellsThatALimitOnFilesIsTooSmall) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small = {.rlim_cur = kBlock, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto pager = FilePager::open({.path = "/var/tmp", .bytes = 2 * kBlock});  // SIGXFSZ is not ignored here
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  ASSERT_FALSE(pager.has_value());
  EXPECT_EQ(pager.error().code, "E0902");
}

TEST(FilePagerOpen, NeverTakesOverAFileThatExists) {
  const TemporaryFolder folder;
  const std::string path = folder.file("exists");
  std::ofstream(path) << "precious";
  const auto pager = FilePager::open({.path = path, .bytes = kBlock});
  std::string kept;
  std::ifstream(path) >> kept;
  ASSERT_FALSE(pager.has_value());
  EXPECT_EQ(pager.error().code, "E0902");
  EXPECT_EQ(kept, "precious");
}

TEST(FilePagerOpen, LeavesNoFileBehind) {
  const TemporaryFolder folder;
  const auto in_folder = FilePager::open({.path = folder.path().string(), .bytes = kBlock});
  const auto by_name = FilePager::open({.path = folder.file("step.page"), .bytes = kBlock});
  EXPECT_TRUE(in_folder.has_value());
  EXPECT_TRUE(by_name.has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FilePagerOpen, RefusesAFolderThatDoesNotExist) {
  const auto pager = FilePager::open({.path = "/nowhere/at/all", .bytes = kBlock});
  ASSERT_FALSE(pager.has_value());
  EXPECT_EQ(pager.error().code, "E0902");
}

TEST(FilePagerOpen, DoesNotCallAFileInRamDirect) {
  struct statfs system = {};
  if (statfs("/dev/shm", &system) != 0 || system.f_type != 0x01021994) GTEST_SKIP() << "no tmpfs at /dev/shm";
  const auto pager = FilePager::open({.path = "/dev/shm", .bytes = kBlock, .align_bytes = kBlock});
  ASSERT_TRUE(pager.has_value());
  EXPECT_FALSE((*pager)->direct_io());
}

}  // namespace
}  // namespace pantoum::host
