#include "host/sealed_blocks.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "base/round_up.h"

namespace pantoum::host {
namespace {

constexpr uint64_t kPageOfTable = uint64_t{1}
                                  << 63;  // marks nonces of the table's pages; those of blocks are the blocks' numbers

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

// The last of the entries that begins at `at` or before.
size_t place_in(std::span<const SealedBlocks::Entry> entries, uint64_t at) {
  const auto behind = std::ranges::upper_bound(entries, at, {}, &SealedBlocks::Entry::begin);
  return static_cast<size_t>(behind - entries.begin()) - 1;
}

bool count_version(Seal& seal) {
  if (seal.version == std::numeric_limits<uint32_t>::max()) return false;
  ++seal.version;
  return true;
}

}  // namespace

SealedBlocks::SealedBlocks(uint64_t bytes, std::span<const uint64_t> cuts)
    : file_bytes_(bytes), edges_(edges_of(bytes, cuts)) {
  for (size_t edge = 1; edge < edges_.size(); ++edge) counts_[0] += blocks_between(edges_[edge - 1], edges_[edge]);
  for (; counts_[levels_ - 1] > kEntries; ++levels_) {
    const size_t pages = (counts_[levels_ - 1] + kEntries - 1) / kEntries;
    tables_at_[levels_ - 1] = base::round_up(file_bytes_, kPageBytes);
    file_bytes_ = tables_at_[levels_ - 1] + pages * kPageBytes;
    counts_[levels_] = pages;
  }
}

uint64_t SealedBlocks::ram_bytes() const {
  return uppermost_.size() * sizeof(Entry) + (pages_.empty() ? 0 : (pages_.size() + 1) * kPageBytes);
}

pt_status SealedBlocks::create(const PageCipher& cipher, Move move) {
  cipher_ = &cipher;
  move_ = std::move(move);
  uppermost_.resize(counts_[levels_ - 1]);
  if (levels_ > 1) {
    const auto in_file = static_cast<size_t>((file_bytes_ - tables_at_[0]) / kPageBytes);
    pages_.resize(std::min(kCached, in_file));
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, (pages_.size() + 1) * kPageBytes)));
    if (!memory_) return PT_E_IO;
    std::memset(memory_.get(), 0, (pages_.size() + 1) * kPageBytes);  // in RAM before RAM is measured
    for (size_t page = 0; page < pages_.size(); ++page)
      pages_[page].entries = reinterpret_cast<Entry*>(memory_.get() + (page + 1) * kPageBytes);
  }
  std::array<size_t, kMostLevels> counts{};
  for (size_t edge = 1; edge < edges_.size(); ++edge) {
    for (uint64_t at = edges_[edge - 1]; at < edges_[edge]; at += kBlockBytes) {
      const uint64_t bytes = std::min(kBlockBytes, edges_[edge] - at);
      const pt_status status = append(0, {.begin = at, .bytes = static_cast<uint32_t>(bytes)}, counts);
      if (status != PT_OK) return status;
    }
  }
  std::vector<uint64_t>().swap(edges_);
  return PT_OK;
}

// While the table is made, page n of pages_ is the one of level n that is being filled.
pt_status SealedBlocks::append(size_t level, const Entry& entry, std::array<size_t, kMostLevels>& counts) {
  const size_t index = counts[level]++;
  if (!is_in_file(level)) {
    uppermost_[index] = entry;
    return PT_OK;
  }
  Entry* entries = pages_[level].entries;
  entries[index % kEntries] = entry;
  if (counts[level] % kEntries != 0 && counts[level] < counts_[level]) return PT_OK;
  Entry above{.begin = entries[0].begin};
  const pt_status status = write_page(level, index / kEntries, entries, above);
  return status == PT_OK ? append(level + 1, above, counts) : status;
}

pt_status SealedBlocks::write_page(size_t level, size_t number, const Entry* entries, Entry& above) {
  if (!count_version(above.seal)) return PT_E_IO;
  const uint64_t place = place_of(level, number);
  cipher_->seal(kPageOfTable | place, std::as_bytes(std::span(entries, kEntries)), memory_.get(), above.seal);
  return move_(true, place, memory_.get(), kPageBytes);
}

// The entry is in RAM, since its page is there as long as a page of which it is the entry.
pt_status SealedBlocks::write_back(Page& page) {
  if (!page.changed) return PT_OK;
  Entry* above = nullptr;
  pt_status status = entry(page.level + 1, page.number, true, above);
  if (status == PT_OK) status = write_page(page.level, page.number, page.entries, *above);
  if (status == PT_OK) page.changed = false;
  return status;
}

// There is one: pages that others need are on at most kMostLevels - 1 levels.
SealedBlocks::Page* SealedBlocks::oldest_but(const Page* above) {
  Page* oldest = nullptr;
  for (Page& page : pages_) {
    const bool is_needed = std::ranges::any_of(pages_, [&](const Page& other) {
      return other.level != SIZE_MAX && other.level + 1 == page.level && other.number / kEntries == page.number;
    });
    if (&page != above && !is_needed && (oldest == nullptr || page.used < oldest->used)) oldest = &page;
  }
  return oldest;
}

pt_status SealedBlocks::page_of(size_t level, size_t number, Page*& found) {
  const auto cached =
      std::ranges::find_if(pages_, [&](const Page& page) { return page.level == level && page.number == number; });
  if (cached != pages_.end()) {
    cached->used = ++uses_;
    found = &*cached;
    return PT_OK;
  }
  Page* page_above = nullptr;
  Entry* above = nullptr;
  pt_status status = is_in_file(level + 1) ? page_of(level + 1, number / kEntries, page_above) : PT_OK;
  if (status == PT_OK) status = entry(level + 1, number, false, above);
  if (status != PT_OK) return status;
  Page& page = *oldest_but(page_above);
  status = write_back(page);
  if (status != PT_OK) return status;
  page.level = SIZE_MAX;
  page.used = 0;
  const std::span bytes(reinterpret_cast<std::byte*>(page.entries), kPageBytes);
  status = move_(false, place_of(level, number), bytes.data(), kPageBytes);
  if (status != PT_OK) return status;
  if (!cipher_->open(kPageOfTable | place_of(level, number), bytes, above->seal)) return PT_E_DAMAGED;
  page.level = level;
  page.number = number;
  page.used = ++uses_;
  found = &page;
  return PT_OK;
}

pt_status SealedBlocks::entry(size_t level, size_t index, bool changes, Entry*& found) {
  if (!is_in_file(level)) {
    found = &uppermost_[index];
    return PT_OK;
  }
  Page* page = nullptr;
  const pt_status status = page_of(level, index / kEntries, page);
  if (status != PT_OK) return status;
  page->changed |= changes;
  found = &page->entries[index % kEntries];
  return PT_OK;
}

pt_status SealedBlocks::find(uint64_t at, Block& block) {
  size_t index = place_in(uppermost_, at);
  for (size_t level = levels_ - 1; level-- > 0;) {
    Page* page = nullptr;
    const pt_status status = page_of(level, index, page);
    if (status != PT_OK) return status;
    const size_t first = index * kEntries;
    index = first + place_in(std::span(page->entries, std::min(kEntries, counts_[level] - first)), at);
  }
  return get(index, block);
}

pt_status SealedBlocks::get(size_t number, Block& block) {
  Entry* found = nullptr;
  const pt_status status = entry(0, number, false, found);
  if (status != PT_OK) return status;
  block = {.number = number,
           .begin = found->begin,
           .end = found->begin + found->bytes,
           .was_sealed = found->seal.version != 0};
  return PT_OK;
}

pt_status SealedBlocks::seal(size_t number, const std::byte* plain, std::byte* to) {
  Entry* found = nullptr;
  const pt_status status = entry(0, number, true, found);
  if (status != PT_OK) return status;
  if (!count_version(found->seal)) return PT_E_IO;
  cipher_->seal(number, std::span(plain, found->bytes), to, found->seal);
  return PT_OK;
}

pt_status SealedBlocks::open(size_t number, std::byte* bytes) {
  Entry* found = nullptr;
  const pt_status status = entry(0, number, false, found);
  if (status != PT_OK) return status;
  if (found->seal.version != 0)
    return cipher_->open(number, std::span(bytes, found->bytes), found->seal) ? PT_OK : PT_E_DAMAGED;
  std::memset(bytes, 0, found->bytes);
  return PT_OK;
}

}  // namespace pantoum::host
