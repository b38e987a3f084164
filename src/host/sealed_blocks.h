// The blocks that a page file is encrypted in, and the table of their seals, in RAM.
//
//   file    |  block 0  |  block 1  | 2 |  block 3  | 4 |     at most kBlockBytes each; a block begins at every cut
//   cuts                            ^       ^           ^     where transfers begin or end
//   seals   | s0 | s1 | s2 | s3 | s4 |                        version and tag
//
// A transfer that begins and ends at cuts consists of whole blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "host/page_cipher.h"

namespace pantoum::host {

class SealedBlocks {
 public:
  static constexpr uint64_t kBlockBytes = 16384;

  // `cuts`: in any order; those outside of [0, bytes) are ignored.
  SealedBlocks(uint64_t bytes, std::span<const uint64_t> cuts);

  size_t count() const { return seals_.size(); }
  uint64_t begin(size_t block) const { return begins_[block]; }
  uint64_t end(size_t block) const { return begins_[block + 1]; }
  size_t block_at(uint64_t at) const;  // at < bytes
  uint64_t table_bytes() const;        // in RAM

  // Encrypts a whole block as its next version. False: all 2^32 - 1 versions are used up, and nothing is changed.
  [[nodiscard]] bool seal(const PageCipher& cipher, size_t block, const std::byte* plain, std::byte* to);
  // Decrypts a whole block in place; a block that was never sealed becomes zeros. False: the bytes are not what was sealed last.
  bool open(const PageCipher& cipher, size_t block, std::byte* bytes) const;
  bool was_sealed(size_t block) const { return seals_[block].version != 0; }

  Seal& seal_of(size_t block) { return seals_[block]; }  // for tests

 private:
  size_t size_of(size_t block) const { return static_cast<size_t>(end(block) - begin(block)); }
  std::vector<uint64_t> begins_;  // of the blocks, and the end of the file
  std::vector<Seal> seals_;
};

}  // namespace pantoum::host
