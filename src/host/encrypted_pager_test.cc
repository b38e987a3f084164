#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "host/file_pager.h"
#include "host/sealed_blocks.h"

namespace pantoum::host {
namespace {

constexpr size_t kPage = 4096;

// Whole pages, aligned for direct I/O, that can be made read-only.
class Pages {
 public:
  explicit Pages(size_t bytes)
      : bytes_(bytes),
        data_(
            static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
  }
  ~Pages() { munmap(data_, bytes_); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  std::byte* at(size_t offset) { return data_ + offset; }
  void fill(unsigned seed) {
    std::minstd_rand random(seed);
    for (size_t byte = 0; byte < bytes_; ++byte) data_[byte] = static_cast<std::byte>(random());
  }
  void fill_with(const std::string& pattern) {
    for (size_t byte = 0; byte < bytes_; ++byte) data_[byte] = static_cast<std::byte>(pattern[byte % pattern.size()]);
  }
  void protect(bool writable) { mprotect(data_, bytes_, writable ? PROT_READ | PROT_WRITE : PROT_READ); }

 private:
  size_t bytes_;
  std::byte* data_;
};

struct Cipher {
  PagerBackend backend;
  const CipherEngine* (*engine)();
};

// libsodium has to be awake before it is asked for its engines.
const CipherEngine* fast_aes() {
  return PageCipher::create() && aes_of_ipsec_mb() != nullptr ? aes_of_ipsec_mb() : aes_of_libsodium();
}
const CipherEngine* sodium_aes() {
  return PageCipher::create() ? aes_of_libsodium() : nullptr;
}
const CipherEngine* xchacha() {
  return &xchacha_of_libsodium();
}

class Encrypted : public testing::TestWithParam<Cipher> {
 protected:
  void SetUp() override {
    if (GetParam().engine() == nullptr) GTEST_SKIP() << "no AES here";
    const auto pager = FilePager::open(
        {.path = "/var/tmp", .bytes = kPage, .backend = GetParam().backend, .cipher = GetParam().engine()});
    if (!pager && pager.error().code != "E0905") GTEST_SKIP() << pager.error().message;
  }
  void open(uint64_t bytes, std::vector<uint64_t> cuts = {}, uint32_t align = kPage) {
    auto pager = FilePager::open({.path = "/var/tmp",
                                  .bytes = bytes,
                                  .backend = GetParam().backend,
                                  .align_bytes = align,
                                  .cipher = GetParam().engine(),
                                  .cuts = cuts});
    ASSERT_TRUE(pager) << pager.error().message;
    pager_ = std::move(*pager);
  }
  pt_status write(uint64_t at, const std::byte* data, size_t bytes) {
    const pt_pager* io = pager_->interface();
    const pt_status status = io->write(io->context, at, data, bytes, ++ticket_, 0);
    return status == PT_OK ? io->wait(io->context, ticket_) : status;
  }
  pt_status read(uint64_t at, std::byte* data, size_t bytes) {
    const pt_pager* io = pager_->interface();
    const pt_status status = io->read(io->context, at, data, bytes, ++ticket_, 0);
    return status == PT_OK ? io->wait(io->context, ticket_) : status;
  }
  std::string in_file(uint64_t at, size_t bytes) {
    std::string found(bytes, '\0');
    EXPECT_EQ(pread(pager_->fd(), found.data(), bytes, static_cast<off_t>(at)), static_cast<ssize_t>(bytes));
    return found;
  }
  void put_in_file(uint64_t at, const std::string& bytes) {
    ASSERT_EQ(pwrite(pager_->fd(), bytes.data(), bytes.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(bytes.size()));
  }
  // Direct reads see what was written through the page cache only after this.
  void flush() { ASSERT_EQ(fsync(pager_->fd()), 0); }

  std::unique_ptr<FilePager> pager_;
  uint32_t ticket_ = 0;
};

std::string name_of(const testing::TestParamInfo<Cipher>& way) {
  const std::string backend = way.param.backend == PagerBackend::kUring ? "io_uring" : "threads";
  const auto engine = way.param.engine;
  return backend + (engine == fast_aes ? "_aes" : engine == sodium_aes ? "_aes_of_libsodium" : "_xchacha");
}

INSTANTIATE_TEST_SUITE_P(Pagers, Encrypted,
                         testing::Values(Cipher{PagerBackend::kUring, fast_aes},
                                         Cipher{PagerBackend::kThreads, fast_aes},
                                         Cipher{PagerBackend::kThreads, sodium_aes},
                                         Cipher{PagerBackend::kUring, xchacha},
                                         Cipher{PagerBackend::kThreads, xchacha}),
                         name_of);

constexpr size_t kFileBytes = 64 * kPage;
const std::string kPattern = "what was paged out";

// How often 4 bytes of the pattern lie somewhere in the process's own open file.
size_t found_in(int fd) {
  std::ifstream file("/proc/self/fd/" + std::to_string(fd), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  size_t count = 0;
  for (size_t at = bytes.find(kPattern.substr(0, 4)); at != std::string::npos;
       at = bytes.find(kPattern.substr(0, 4), at + 1))
    ++count;
  return bytes.size() == kFileBytes ? count : SIZE_MAX;
}

TEST_P(Encrypted, NothingOfWhatWasPagedLiesInTheFile) {
  ASSERT_NO_FATAL_FAILURE(open(kFileBytes));
  Pages pages(kFileBytes);
  pages.fill_with(kPattern);
  ASSERT_EQ(write(0, pages.at(0), kFileBytes), PT_OK);
  EXPECT_LE(found_in(pager_->fd()), 1U);  // by chance in one of 16000 files
  const std::string first = in_file(0, kPage), second = in_file(kPage, kPage);
  EXPECT_NE(first, second);
  ASSERT_EQ(write(0, pages.at(0), kFileBytes), PT_OK);  // the same bytes again
  EXPECT_NE(in_file(0, kPage), first);
}

TEST(PlainPager, LetsWhatWasPagedBeRead) {  // the control of the test above
  const auto pager = FilePager::open({.path = "/var/tmp", .bytes = kFileBytes, .encrypt = false});
  ASSERT_TRUE(pager);
  EXPECT_STREQ((*pager)->cipher(), "off");
  EXPECT_EQ((*pager)->encryption_bytes(), 0U);
  Pages pages(kFileBytes);
  pages.fill_with(kPattern);
  const pt_pager* io = (*pager)->interface();
  ASSERT_EQ(io->write(io->context, 0, pages.at(0), kFileBytes, 1, 0), PT_OK);
  ASSERT_EQ(io->wait(io->context, 1), PT_OK);
  EXPECT_EQ(found_in((*pager)->fd()), kFileBytes / kPattern.size() + 1);
}

TEST_P(Encrypted, EveryFlippedBitEndsTheRead) {
  ASSERT_NO_FATAL_FAILURE(open(kFileBytes));
  Pages pages(kFileBytes), back(kFileBytes);
  pages.fill(1);
  ASSERT_EQ(write(0, pages.at(0), kFileBytes), PT_OK);
  std::minstd_rand random(7);
  for (int round = 0; round < 50; ++round) {
    const size_t byte = random() % kFileBytes;
    const std::string before = in_file(byte, 1);
    put_in_file(byte, std::string(1, static_cast<char>(before[0] ^ (1 << random() % 8))));
    flush();
    EXPECT_EQ(read(0, back.at(0), kFileBytes), PT_E_DAMAGED) << byte;
    put_in_file(byte, before);
  }
  flush();
  EXPECT_EQ(read(0, back.at(0), kFileBytes), PT_OK);
  EXPECT_EQ(std::memcmp(back.at(0), pages.at(0), kFileBytes), 0);
}

TEST_P(Encrypted, WhatLayThereBeforeOrElsewhereIsRefused) {
  constexpr size_t kBlock = SealedBlocks::kBlockBytes;
  ASSERT_NO_FATAL_FAILURE(open(2 * kBlock));
  Pages pages(2 * kBlock), back(2 * kBlock);
  ASSERT_EQ(write(0, pages.at(0), 2 * kBlock), PT_OK);
  const std::string first = in_file(0, kBlock), second = in_file(kBlock, kBlock);
  put_in_file(0, second);
  put_in_file(kBlock, first);
  flush();
  EXPECT_EQ(read(0, back.at(0), 2 * kBlock), PT_E_DAMAGED);
  ASSERT_EQ(write(0, pages.at(0), 2 * kBlock), PT_OK);
  EXPECT_EQ(read(0, back.at(0), 2 * kBlock), PT_OK);
  put_in_file(0, first);
  flush();
  EXPECT_EQ(read(0, back.at(0), kBlock), PT_E_DAMAGED);
  EXPECT_EQ(read(kBlock, back.at(0), kBlock), PT_OK);
}

TEST_P(Encrypted, WhatWasNeverWrittenIsZeros) {
  ASSERT_NO_FATAL_FAILURE(open(kFileBytes));
  put_in_file(0, std::string(kFileBytes, 'x'));
  flush();
  Pages back(kFileBytes), zeros(kFileBytes);
  back.fill(3);
  ASSERT_EQ(read(0, back.at(0), kFileBytes), PT_OK);
  EXPECT_EQ(std::memcmp(back.at(0), zeros.at(0), kFileBytes), 0);
  back.fill(3);
  ASSERT_EQ(read(kPage, back.at(0), kPage), PT_OK);
  EXPECT_EQ(std::memcmp(back.at(0), zeros.at(0), kPage), 0);
}

TEST_P(Encrypted, AWriteLeavesItsSourceAlone) {
  constexpr size_t kMany = 256 * kPage;
  ASSERT_NO_FATAL_FAILURE(open(kMany));
  Pages pages(kMany), back(kMany);
  pages.fill(5);
  pages.protect(false);  // to write there would end the test
  ASSERT_EQ(write(0, pages.at(0), kMany), PT_OK);
  ASSERT_EQ(read(0, back.at(0), kMany), PT_OK);
  EXPECT_EQ(std::memcmp(back.at(0), pages.at(0), kMany), 0);
}

// Any window of the file, wherever blocks begin, several under way.
TEST_P(Encrypted, EveryWindowIsWrittenAndRead) {
  constexpr uint32_t kUnit = 512;
  constexpr size_t kUnits = 3000;
  std::minstd_rand random(11);
  std::vector<uint64_t> cuts;
  for (int cut = 0; cut < 20; ++cut) cuts.push_back(random() % kUnits * kUnit);
  ASSERT_NO_FATAL_FAILURE(open(kUnits * kUnit, cuts, kUnit));
  Pages source(kUnits * kUnit), back(kUnits * kUnit), expected(kUnits * kUnit);
  const pt_pager* io = pager_->interface();
  for (unsigned round = 0; round < 200; ++round) {
    size_t begin = random() % kUnits * kUnit, end = (random() % kUnits + 1) * kUnit;
    if (round % 4 == 0) end = std::min(begin + 4 * kUnit, kUnits * kUnit);
    if (round % 5 == 0) begin = cuts[random() % cuts.size()];
    if (begin >= end) std::swap(begin, end);
    if (begin == end) continue;
    source.fill(round + 1);
    std::memcpy(expected.at(begin), source.at(begin), end - begin);
    const uint32_t ticket = (ticket_ += 2);
    ASSERT_EQ(io->write(io->context, begin, source.at(begin), end - begin, ticket - 1, 0), PT_OK);
    ASSERT_EQ(io->read(io->context, begin, back.at(begin), end - begin, ticket, ticket - 1), PT_OK);
    ASSERT_EQ(io->wait(io->context, ticket), PT_OK);
    ASSERT_EQ(io->wait(io->context, ticket - 1), PT_OK);
    ASSERT_EQ(std::memcmp(back.at(begin), source.at(begin), end - begin), 0) << begin << " " << end;
  }
  ASSERT_EQ(read(0, back.at(0), kUnits * kUnit), PT_OK);
  EXPECT_EQ(std::memcmp(back.at(0), expected.at(0), kUnits * kUnit), 0);
  EXPECT_EQ(pager_->stats().buffered == 0, pager_->direct_io());
}

// Neighbours in one page of the system's cache, some of whose transfers could bypass the cache and some could not, all under way together.
TEST_P(Encrypted, NeighboursOfAnySizeKeepTheirBytes) {
  constexpr uint32_t kSmallUnit = 64, kRounds = 500;
  constexpr std::array<uint64_t, 4> kPlaces{0, 12800, 44544, 53760}, kSizes{12544, 31360, 9216, 4608};
  constexpr size_t kAll = 58368;
  std::vector<uint64_t> cuts{kAll};
  for (size_t at = 0; at < kPlaces.size(); ++at) cuts.insert(cuts.end(), {kPlaces[at], kPlaces[at] + kSizes[at]});
  auto pager = FilePager::open({.path = "/var/tmp",
                                .bytes = kAll,
                                .backend = GetParam().backend,
                                .align_bytes = kSmallUnit,
                                .cipher = GetParam().engine(),
                                .cuts = cuts,
                                .arena_bytes = 256 << 10});
  ASSERT_TRUE(pager) << pager.error().message;
  const pt_pager* io = (*pager)->interface();
  Pages source(kAll), back(kAll + kSmallUnit);  // what comes back lies where a direct transfer cannot put it
  const std::jthread busy([](const std::stop_token& stop) {  // keeps the disk busy, so that transfers take their time
    const std::vector<char> bytes(size_t{8} << 20, 'x');
    std::FILE* file = std::tmpfile();
    while (file != nullptr && !stop.stop_requested()) {
      std::rewind(file);
      if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size() || fdatasync(fileno(file)) != 0) break;
    }
    if (file != nullptr) std::fclose(file);
  });
  uint32_t ticket = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    std::memset(source.at(0), static_cast<int>(round) & 255, kAll);
    for (size_t at = 0; at < kPlaces.size(); ++at)
      ASSERT_EQ(io->write(io->context, kPlaces[at], source.at(kPlaces[at]), kSizes[at], ++ticket, 0), PT_OK);
    const uint32_t first = ticket - 3;
    for (const size_t at : {0U, 2U, 1U, 3U}) {
      const auto after = static_cast<uint32_t>(first + at);
      std::byte* const to = back.at(kPlaces[at] + kSmallUnit);
      ASSERT_EQ(io->read(io->context, kPlaces[at], to, kSizes[at], ++ticket, after), PT_OK);
    }
    for (uint32_t each = first; each <= ticket; ++each) ASSERT_EQ(io->wait(io->context, each), PT_OK) << round;
    for (size_t at = 0; at < kPlaces.size(); ++at)
      ASSERT_EQ(std::memcmp(back.at(kPlaces[at] + kSmallUnit), source.at(kPlaces[at]), kSizes[at]), 0) << round;
  }
  EXPECT_EQ((*pager)->stats().buffered,
            8 * kRounds);  // none is whole pages, so none bypasses the cache beside those that do not
}

// A file of so many blocks has a table of two levels in the file, which does not fit in RAM.
constexpr uint32_t kUnit = 512;
constexpr size_t kSmallBlocks = SealedBlocks::kEntries * SealedBlocks::kEntries + 3000,
                 kSmallBytes = kSmallBlocks * kUnit;

std::vector<uint64_t> cut_everywhere() {
  std::vector<uint64_t> cuts;
  for (size_t block = 0; block < kSmallBlocks; ++block) cuts.push_back(block * kUnit);
  return cuts;
}

TEST_P(Encrypted, ItsTableMayBeLargerThanItsRam) {
  ASSERT_NO_FATAL_FAILURE(open(kSmallBytes, cut_everywhere(), kUnit));
  Pages source(kSmallBytes), back(kSmallBytes), expected(kSmallBytes);
  std::minstd_rand random(13);
  for (unsigned round = 0; round < 300; ++round) {
    const size_t begin = random() % kSmallBlocks;
    const size_t count = std::min(random() % (round % 10 == 0 ? kSmallBlocks : 40) + 1, kSmallBlocks - begin);
    if (round % 50 == 0) source.fill(round + 1);
    if (round % 2 == 0) {
      ASSERT_EQ(write(begin * kUnit, source.at(begin * kUnit), count * kUnit), PT_OK);
      std::memcpy(expected.at(begin * kUnit), source.at(begin * kUnit), count * kUnit);
    }
    const size_t from = random() % kSmallBlocks;
    ASSERT_EQ(read(from * kUnit, back.at(from * kUnit), kUnit), PT_OK);
    ASSERT_EQ(std::memcmp(back.at(from * kUnit), expected.at(from * kUnit), kUnit), 0) << from;
  }
  ASSERT_EQ(read(0, back.at(0), kSmallBytes), PT_OK);
  EXPECT_EQ(std::memcmp(back.at(0), expected.at(0), kSmallBytes), 0);
  EXPECT_EQ(pager_->stats().buffered == 0, pager_->direct_io());
}

TEST_P(Encrypted, AFlippedBitOfItsTableEndsTheRead) {
  ASSERT_NO_FATAL_FAILURE(open(kSmallBytes, cut_everywhere(), kUnit));
  Pages pages(kSmallBytes), back(kSmallBytes);
  pages.fill(17);
  ASSERT_EQ(write(0, pages.at(0), kSmallBytes), PT_OK);
  ASSERT_EQ(read(0, back.at(0), kSmallBytes), PT_OK);  // the changed pages of the table are in the file now
  const uint64_t end = SealedBlocks(kSmallBytes, cut_everywhere()).file_bytes();
  std::minstd_rand random(19);
  for (int round = 0; round < 10; ++round) {
    const uint64_t byte = kSmallBytes + random() % (end - kSmallBytes - 16 * SealedBlocks::kPageBytes);
    const std::string before = in_file(byte, 1);
    put_in_file(byte, std::string(1, static_cast<char>(before[0] ^ (1 << random() % 8))));
    flush();
    EXPECT_EQ(read(0, back.at(0), kSmallBytes), PT_E_DAMAGED) << byte;
    put_in_file(byte, before);
    flush();
    EXPECT_EQ(read(0, back.at(0), kSmallBytes), PT_OK) << byte;
  }
}

// Blocks that are put back together with their whole table are older than what is in RAM.
TEST_P(Encrypted, AnOlderStateOfTheWholeFileIsRefused) {
  ASSERT_NO_FATAL_FAILURE(open(kSmallBytes, cut_everywhere(), kUnit));
  const auto file_bytes = static_cast<size_t>(SealedBlocks(kSmallBytes, cut_everywhere()).file_bytes());
  Pages pages(kSmallBytes), back(kSmallBytes);
  std::string before;
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(write(0, pages.at(0), kSmallBytes), PT_OK);
    ASSERT_EQ(read(0, back.at(0), kSmallBytes), PT_OK);
    if (round == 0) before = in_file(0, file_bytes);
  }
  put_in_file(0, before);
  flush();
  EXPECT_EQ(read(0, back.at(0), kUnit), PT_E_DAMAGED);
}

TEST_P(Encrypted, ItsRamIsExact) {
  ASSERT_NO_FATAL_FAILURE(open(kPage));
  EXPECT_EQ(pager_->encryption_bytes(), 4 * kPage + sizeof(SealedBlocks::Entry));
  const uint64_t table = (SealedBlocks::kCached + 1) * kPage;
  // The size of the file has no part in it, but for the uppermost entries.
  for (const uint64_t mib : {64UL, 128UL, 1024UL}) {
    ASSERT_NO_FATAL_FAILURE(open(mib << 20));
    const uint64_t blocks = (mib << 20) / SealedBlocks::kBlockBytes, pages = blocks / SealedBlocks::kEntries;
    EXPECT_EQ(pager_->encryption_bytes(),
              (1 << 20) + table + (pages > SealedBlocks::kEntries ? 4 : pages) * sizeof(SealedBlocks::Entry));
    EXPECT_LE(pager_->encryption_bytes(), (1 << 20) + table + kPage);
  }
}

// What the process has allocated, as the C library counts it.
uint64_t allocated() {
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
}

TEST_P(Encrypted, NothingElseGrowsWithTheFile) {
#ifdef PANTOUM_SANITIZER
  GTEST_SKIP() << "sanitizers allocate otherwise";
#endif
  std::vector<uint64_t> beside;
  for (const uint64_t mib : {16UL, 128UL, 1024UL}) {
    pager_.reset();
    const uint64_t before = allocated();
    ASSERT_NO_FATAL_FAILURE(open(mib << 20));
    beside.push_back(allocated() - before - pager_->encryption_bytes());
  }
  for (const uint64_t bytes : beside) {
    EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(beside[0]), 2.0 * kPage);
    EXPECT_LT(bytes, 32U << 10);
  }
}

TEST_P(Encrypted, ItsBuffersAreAShareOfTheArena) {
  for (const auto& [arena, buffers] : {std::pair<uint64_t, uint64_t>{0, 32 << 10},
                                       {256 << 10, 32 << 10},
                                       {1 << 20, 64 << 10},
                                       {3 << 20, 192 << 10},
                                       {1 << 30, 1 << 20}}) {
    constexpr size_t kMany = 1 << 20;
    auto pager = FilePager::open({.path = "/var/tmp",
                                  .bytes = kMany,
                                  .backend = GetParam().backend,
                                  .cipher = GetParam().engine(),
                                  .arena_bytes = arena});
    ASSERT_TRUE(pager) << pager.error().message;
    pager_ = std::move(*pager);
    EXPECT_EQ(pager_->encryption_bytes(), buffers + kMany / SealedBlocks::kBlockBytes * sizeof(SealedBlocks::Entry));
    Pages pages(kMany), back(kMany);
    pages.fill(23);
    ASSERT_EQ(write(0, pages.at(0), kMany), PT_OK);
    ASSERT_EQ(read(0, back.at(0), kMany), PT_OK);
    EXPECT_EQ(std::memcmp(back.at(0), pages.at(0), kMany), 0);
  }
}

TEST(SealedBlocksTable, BeginsABlockAtEveryCutAndNoneIsTooLarge) {
  constexpr uint64_t kBlock = SealedBlocks::kBlockBytes;
  const std::vector<uint64_t> cuts{3 * kBlock, 512, 0, 3 * kBlock, 5 * kBlock, UINT64_MAX};
  const auto cipher = PageCipher::create();
  ASSERT_TRUE(cipher) << cipher.error().message;
  SealedBlocks blocks(4 * kBlock + 64, cuts);
  ASSERT_EQ(blocks.create(*cipher, {}), PT_OK);  // there is no page of it in the file
  std::vector<uint64_t> begins;
  SealedBlocks::Block block, found;
  for (size_t number = 0; number < blocks.count(); ++number) {
    ASSERT_EQ(blocks.get(number, block), PT_OK);
    begins.push_back(block.begin);
    for (const uint64_t at : {block.begin, block.end - 1}) {
      ASSERT_EQ(blocks.find(at, found), PT_OK);
      EXPECT_EQ(found.number, number);
    }
  }
  EXPECT_EQ(begins, (std::vector<uint64_t>{0, 512, 512 + kBlock, 512 + 2 * kBlock, 3 * kBlock, 4 * kBlock}));
  EXPECT_EQ(block.end, 4 * kBlock + 64);
  EXPECT_EQ(SealedBlocks(0, {}).count(), 0U);
}

TEST(SealedBlocksTable, NoVersionIsUsedTwice) {
  const auto cipher = PageCipher::create();
  ASSERT_TRUE(cipher) << cipher.error().message;
  SealedBlocks blocks(64, {});
  ASSERT_EQ(blocks.create(*cipher, {}), PT_OK);
  std::vector<std::byte> plain(64, std::byte{7}), sealed(64);
  SealedBlocks::Entry* entry = nullptr;
  ASSERT_EQ(blocks.entry(0, 0, true, entry), PT_OK);
  entry->seal.version = UINT32_MAX - 1;
  EXPECT_EQ(blocks.seal(0, plain.data(), sealed.data()), PT_OK);
  const std::vector<std::byte> last = sealed;
  EXPECT_EQ(blocks.seal(0, plain.data(), sealed.data()), PT_E_IO);
  EXPECT_EQ(sealed, last);
  EXPECT_EQ(blocks.open(0, sealed.data()), PT_OK);
  EXPECT_EQ(sealed, plain);
}

// A page of the table is a block, too: where its versions are used up, the pager refuses rather than to seal another one under the same nonce.
TEST(SealedBlocksTable, NoVersionOfAPageIsUsedTwice) {
  const auto cipher = PageCipher::create();
  ASSERT_TRUE(cipher) << cipher.error().message;
  std::vector<std::byte> file;
  SealedBlocks blocks(kSmallBytes, cut_everywhere());
  file.resize(static_cast<size_t>(blocks.file_bytes()));
  size_t written = 0;
  ASSERT_EQ(blocks.create(*cipher,
                          [&](bool writes, uint64_t at, std::byte* data, size_t bytes) {
                            written += writes ? 1 : 0;
                            std::memcpy(writes ? &file[at] : data, writes ? data : &file[at], bytes);
                            return PT_OK;
                          }),
            PT_OK);
  EXPECT_EQ(written, (file.size() - kSmallBytes) / SealedBlocks::kPageBytes);
  SealedBlocks::Entry* above = nullptr;
  std::vector<std::byte> plain(kUnit), sealed(kUnit);
  ASSERT_EQ(blocks.seal(0, plain.data(), sealed.data()), PT_OK);
  ASSERT_EQ(blocks.entry(1, 0, false, above), PT_OK);
  above->seal.version = UINT32_MAX;
  written = 0;
  pt_status status = PT_OK;
  for (size_t block = 1; block < kSmallBlocks && status == PT_OK; ++block)
    status = blocks.seal(block, plain.data(), sealed.data());
  EXPECT_EQ(status, PT_E_IO);
  EXPECT_LT(written, SealedBlocks::kCached + 1);
}

uint64_t locked_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmLck:")) return std::stoull(line.substr(6)) * 1024;
  return 0;
}

TEST(PageCipher, ItsKeyIsInLockedMemoryThatIsInNoCoreFile) {
#ifdef PANTOUM_SANITIZER
  GTEST_SKIP() << "sanitizers lock no memory";
#endif
  const uint64_t before = locked_bytes();
  {
    const auto cipher = PageCipher::create();
    ASSERT_TRUE(cipher) << cipher.error().message;
    EXPECT_GT(locked_bytes(), before);
    std::ifstream maps("/proc/self/smaps");
    size_t count = 0;  // locked, not dumped
    for (std::string line; std::getline(maps, line);)
      if (line.starts_with("VmFlags:") && line.find(" lo") != std::string::npos &&
          line.find(" dd") != std::string::npos)
        ++count;
    EXPECT_GT(count, 0U);
  }
  EXPECT_EQ(locked_bytes(), before);
}

// An engine under a key that a test gives; nonces are numbers.
class Keyed {
 public:
  Keyed(const CipherEngine& engine, const std::array<unsigned char, 32>& key) : engine_(engine) {
    engine.expand(state_, key.data());
  }
  void seal(unsigned char nonce, const std::vector<unsigned char>& plain, unsigned char* to, unsigned char* tag) const {
    engine_.seal(state_, to, plain.data(), plain.size(), nonce_of(nonce).data(), tag);
  }
  [[nodiscard]] bool open(unsigned char nonce, std::vector<unsigned char>& bytes, const unsigned char* tag) const {
    return engine_.open(state_, bytes.data(), bytes.size(), nonce_of(nonce).data(), tag);
  }

 private:
  static std::array<unsigned char, CipherEngine::kNonceBytes> nonce_of(unsigned char number) { return {number}; }
  const CipherEngine& engine_;
  alignas(64) unsigned char state_[CipherEngine::kStateBytes]{};
};

// Whoever computes AES-256-GCM: what one sealed the other opens, at every size.
TEST(CipherEngine, TwoLibrariesAgree) {
  if (fast_aes() == nullptr || sodium_aes() == nullptr) GTEST_SKIP() << "no AES here";
  std::array<unsigned char, 32> key{};
  for (size_t at = 0; at < key.size(); ++at) key[at] = static_cast<unsigned char>(7 * at + 1);
  const Keyed one(*fast_aes(), key), other(*sodium_aes(), key);
  std::minstd_rand random(5);
  for (size_t size : {1U, 15U, 16U, 17U, 64U, 511U, 512U, 4096U, 16000U, 16384U}) {
    std::vector<unsigned char> plain(size), first(size), second(size);
    std::array<unsigned char, 16> a{}, b{};
    for (unsigned char& byte : plain) byte = static_cast<unsigned char>(random());
    one.seal(8, plain, first.data(), a.data());
    other.seal(8, plain, second.data(), b.data());
    EXPECT_EQ(first, second) << size;
    EXPECT_EQ(a, b) << size;
    EXPECT_TRUE(one.open(8, second, b.data())) << size;
    EXPECT_EQ(second, plain);
    EXPECT_FALSE(other.open(9, first, a.data())) << size;
  }
}

// Test case 14 of the paper on GCM (McGrew and Viega): zeros under a key of zeros and a nonce of zeros.
TEST(CipherEngine, IsTheAes256GcmOfThePaper) {
  if (fast_aes() == nullptr || sodium_aes() == nullptr) GTEST_SKIP() << "no AES here";
  for (const CipherEngine* engine : {fast_aes(), sodium_aes()}) {
    const Keyed cipher(*engine, {});
    const std::vector<unsigned char> zeros(16);
    std::array<unsigned char, 16> bytes{}, tag{};
    cipher.seal(0, zeros, bytes.data(), tag.data());
    constexpr std::array<unsigned char, 16> kSealed{0xce, 0xa7, 0x40, 0x3d, 0x4d, 0x60, 0x6b, 0x6e,
                                                    0x07, 0x4e, 0xc5, 0xd3, 0xba, 0xf3, 0x9d, 0x18};
    constexpr std::array<unsigned char, 16> kTag{0xd0, 0xd1, 0xc8, 0xa7, 0x99, 0x99, 0x6b, 0xf0,
                                                 0x26, 0x5b, 0x98, 0xb5, 0xd4, 0x8a, 0xb9, 0x19};
    EXPECT_EQ(bytes, kSealed);
    EXPECT_EQ(tag, kTag);
  }
}

// Appendix A.3.1 of the draft on XChaCha20-Poly1305, whose tag here is of no additional data.
TEST(CipherEngine, IsTheXChaCha20Poly1305OfTheDraft) {
  const std::string text =
      "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be "
      "it.";
  std::vector<unsigned char> bytes(text.begin(), text.end());
  std::array<unsigned char, CipherEngine::kKeyBytes> key{};
  std::array<unsigned char, CipherEngine::kNonceBytes> nonce{};
  std::iota(key.begin(), key.end(), static_cast<unsigned char>(0x80));
  std::iota(nonce.begin(), nonce.end(), static_cast<unsigned char>(0x40));
  const CipherEngine& engine = xchacha_of_libsodium();
  alignas(64) unsigned char state[CipherEngine::kStateBytes]{};
  engine.expand(state, key.data());
  std::array<unsigned char, CipherEngine::kTagBytes> tag{};
  engine.seal(state, bytes.data(), bytes.data(), bytes.size(), nonce.data(), tag.data());
  constexpr std::array<unsigned char, 16> kTag{0xf7, 0xe6, 0x2e, 0xfb, 0xf4, 0x50, 0x89, 0xdb,
                                               0x18, 0xf9, 0xc8, 0xa3, 0xf0, 0xe4, 0x1e, 0x5f};
  EXPECT_THAT((std::vector<unsigned char>(bytes.begin(), bytes.begin() + 8)),
              testing::ElementsAre(0xbd, 0x6d, 0x17, 0x9d, 0x3e, 0x83, 0xd4, 0x3b));
  EXPECT_THAT((std::vector<unsigned char>(bytes.end() - 8, bytes.end())),
              testing::ElementsAre(0x12, 0xf6, 0x15, 0xc6, 0x8b, 0x13, 0xb5, 0x2e));
  EXPECT_EQ(tag, kTag);
  EXPECT_TRUE(engine.open(state, bytes.data(), bytes.size(), nonce.data(), tag.data()));
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), text);
}

TEST(PageCipher, EveryKeyIsAnother) {
  const auto one = PageCipher::create(), other = PageCipher::create();
  ASSERT_TRUE(one && other);
  std::vector<std::byte> bytes(64, std::byte{7});
  Seal seal{.version = 1};
  one->seal(0, bytes, bytes.data(), seal);
  EXPECT_FALSE(other->open(0, bytes, seal));
  EXPECT_EQ(bytes, std::vector<std::byte>(64));  // nothing of it is given out
}

}  // namespace
}  // namespace pantoum::host
