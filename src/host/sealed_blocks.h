// The blocks that a page file is encrypted in, and the table of their seals. The table lies in the file, behind the blocks, in pages that are sealed
// themselves; only the seals of its uppermost level are in RAM. So an older state of the file is noticed, and the RAM does not grow with the file.
//
//   file    |  block 0  |  block 1  | 2 |  block 3  | 4 | .. | pages of level 0 | pages of level 1 | ..
//   cuts                            ^       ^           ^      where transfers begin or end
//   level 0   an entry for each block: where it begins, its bytes, version and tag
//   level n   an entry for each page of level n - 1
//   RAM       the uppermost level, which has at most kEntries entries, and a few pages of the others
//
// A block has at most kBlockBytes, and a block begins at every cut: a transfer that begins and ends at cuts consists of whole blocks.
// A page that has changed is sealed as its next version when another one takes its place in RAM.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "host/page_cipher.h"
#include "pantoum/pantoum.h"

namespace pantoum::host {

class SealedBlocks {
 public:
  static constexpr uint64_t kBlockBytes = 16384, kPageBytes = 4096;
  struct Entry {
    uint64_t begin = 0;
    uint32_t bytes = 0;  // of a block
    Seal seal;
  };
  static constexpr size_t kEntries = kPageBytes / sizeof(Entry), kCached = 8, kMostLevels = 6;
  static_assert(sizeof(Entry) == 32 && kCached > kMostLevels);

  struct Block {
    size_t number = 0;
    uint64_t begin = 0, end = 0;
    bool was_sealed = false;
  };
  // Moves bytes of the file; returns when they have been moved.
  using Move = std::function<pt_status(bool writes, uint64_t at, std::byte* data, size_t bytes)>;

  // `cuts`: in any order; those outside of [0, bytes) are ignored.
  SealedBlocks(uint64_t bytes, std::span<const uint64_t> cuts);
  // Writes the table of blocks none of which was sealed. Everything below needs it. `cipher` outlives this object.
  [[nodiscard]] pt_status create(const PageCipher& cipher, Move move);

  size_t count() const { return counts_[0]; }
  uint64_t file_bytes() const { return file_bytes_; }  // with the table
  uint64_t ram_bytes() const;

  // The calls below read pages of the table and write them. PT_E_DAMAGED: a page is not what was sealed last.
  // The block in which the byte lies; at < bytes.
  [[nodiscard]] pt_status find(uint64_t at, Block& block);
  [[nodiscard]] pt_status get(size_t number, Block& block);
  // Encrypts a whole block as its next version. PT_E_IO: all 2^32 - 1 versions are used up, and nothing is changed.
  [[nodiscard]] pt_status seal(size_t number, const std::byte* plain, std::byte* to);
  // Decrypts a whole block in place; a block that was never sealed becomes zeros. PT_E_DAMAGED: the bytes are not what was sealed last.
  [[nodiscard]] pt_status open(size_t number, std::byte* bytes);

  pt_status entry(size_t level, size_t index, bool changes, Entry*& found);  // for tests, else private

 private:
  // A page of a level below the uppermost one. With it in RAM is the page that has its entry.
  struct Page {
    size_t level = SIZE_MAX, number = 0;  // SIZE_MAX: none
    uint64_t used = 0;                    // the latest was used last
    bool changed = false;
    Entry* entries = nullptr;
  };
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };

  [[nodiscard]] bool is_in_file(size_t level) const { return level + 1 < levels_; }
  [[nodiscard]] uint64_t place_of(size_t level, size_t number) const { return tables_at_[level] + number * kPageBytes; }
  pt_status page_of(size_t level, size_t number, Page*& found);
  Page* oldest_but(const Page* above);
  pt_status write_back(Page& page);
  pt_status write_page(size_t level, size_t number, const Entry* entries, Entry& above);
  pt_status append(size_t level, const Entry& entry, std::array<size_t, kMostLevels>& counts);

  uint64_t file_bytes_ = 0;
  size_t levels_ = 1;
  std::array<size_t, kMostLevels> counts_{};       // of entries
  std::array<uint64_t, kMostLevels> tables_at_{};  // of the levels in the file
  std::vector<uint64_t> edges_;                    // until the table is written
  std::vector<Entry> uppermost_;
  std::unique_ptr<std::byte[], Free> memory_;  // of the pages, and of one that is written
  std::vector<Page> pages_;
  uint64_t uses_ = 0;
  const PageCipher* cipher_ = nullptr;
  Move move_;
};

}  // namespace pantoum::host
