#include "host/sealed_blocks.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace pantoum::host {
namespace {

std::vector<uint64_t> edges_of(uint64_t bytes, std::span<const uint64_t> cuts) {
  std::vector<uint64_t> edges{0, bytes};
  std::ranges::copy_if(cuts, std::back_inserter(edges), [&](uint64_t cut) { return cut < bytes; });
  std::ranges::sort(edges);
  edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
  return edges;
}

uint64_t blocks_between(uint64_t begin, uint64_t end) {
  return (end - begin + SealedBlocks::kBlockBytes - 1) / SealedBlocks::kBlockBytes;
}

}  // namespace

SealedBlocks::SealedBlocks(uint64_t bytes, std::span<const uint64_t> cuts) {
  const std::vector<uint64_t> edges = edges_of(bytes, cuts);
  uint64_t count = 0;
  for (size_t edge = 1; edge < edges.size(); ++edge) count += blocks_between(edges[edge - 1], edges[edge]);
  begins_.reserve(count + 1);
  for (size_t edge = 1; edge < edges.size(); ++edge)
    for (uint64_t at = edges[edge - 1]; at < edges[edge]; at += kBlockBytes) begins_.push_back(at);
  begins_.push_back(bytes);
  seals_ = std::vector<Seal>(count);
}

size_t SealedBlocks::block_at(uint64_t at) const {
  return static_cast<size_t>(std::ranges::upper_bound(begins_, at) - begins_.begin()) - 1;
}

uint64_t SealedBlocks::table_bytes() const {
  return begins_.size() * sizeof(uint64_t) + seals_.size() * sizeof(Seal);
}

bool SealedBlocks::seal(const PageCipher& cipher, size_t block, const std::byte* plain, std::byte* to) {
  Seal& seal = seals_[block];
  if (seal.version == std::numeric_limits<uint32_t>::max()) return false;
  ++seal.version;
  cipher.seal(block, std::span(plain, size_of(block)), to, seal);
  return true;
}

bool SealedBlocks::open(const PageCipher& cipher, size_t block, std::byte* bytes) const {
  if (was_sealed(block)) return cipher.open(block, std::span(bytes, size_of(block)), seals_[block]);
  std::memset(bytes, 0, size_of(block));
  return true;
}

}  // namespace pantoum::host
