#include "check/arena.h"

#include <fmt/format.h>

#include <algorithm>

namespace pantoum::check {

Result<double> Arena::claim(int64_t at, int64_t size, int64_t allowed) {
  if (at < 0 || at > kLargestOffset) return fail("E0801", fmt::format("offset {} is no byte offset", at));
  if (at % align_ != 0) return fail("E0801", fmt::format("offset {} is no multiple of {}", at, align_));
  if (size > 0) {
    auto next = holder_at_.lower_bound(at + size);  // the first block that begins behind
    while (next != holder_at_.begin()) {
      --next;
      const Block& other = blocks_[next->second];
      if (!overlap(at, size, other.at, other.size)) break;
      if (static_cast<int64_t>(next->second) == allowed) continue;
      return fail("E0801", fmt::format("[{}, {}) overlaps {} at [{}, {})", at, at + size,
                                       next->second == staging() ? "the staging buffer" : "a tensor in RAM", other.at,
                                       other.at + other.size));
    }
  }
  double wait = 0;
  for (const InUse& used : in_use_)
    if (overlap(at, size, used.at, used.size)) wait = std::max(wait, used.until);
  top_ = std::max(top_, at + size);
  return wait;
}

Block& Arena::hold(size_t tensor, int64_t at, int64_t size) {
  blocks_[tensor] = Block{at, size, 0, 0, true};
  if (size > 0) holder_at_[at] = tensor;
  bytes_held_ += size;
  return blocks_[tensor];
}

void Arena::drop(size_t tensor) {
  Block& block = blocks_[tensor];
  if (block.size > 0) holder_at_.erase(block.at);
  bytes_held_ -= block.size;
  block.held = false;
}

void Arena::release(size_t tensor) {
  drop(tensor);
  use_until(blocks_[tensor].at, blocks_[tensor].size, blocks_[tensor].busy_s);
}

void Arena::hand_over(size_t tensor) {
  drop(tensor);
}

void Arena::use_until(int64_t at, int64_t size, double until) {
  if (size > 0) in_use_.push_back({at, size, until});
}

void Arena::forget(double now) {
  if (in_use_.size() <= forget_above_) return;
  std::erase_if(in_use_, [now](const InUse& used) { return used.until <= now; });
  forget_above_ = std::max<size_t>(64, 2 * in_use_.size());
}

}  // namespace pantoum::check
