// The arena during a replay: who holds which bytes, and until when bytes given back are still in use.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/result.h"

namespace pantoum::check {

// Of a byte in RAM or storage: what a double holds, as JSON has it.
inline constexpr int64_t kLargestOffset = int64_t{1} << 53;

struct Block {  // a tensor's allocation
  int64_t at = 0, size = 0;
  double ready_s = 0;  // the bytes are valid from then on
  double busy_s = 0;   // the last use of the bytes ends then
  bool held = false;
};

// Zero-sized blocks touch nothing. Rules of semantics.md; errors are E0801 without a place.
class Arena {
 public:
  Arena(size_t tensors, int64_t align) : blocks_(tensors + 1), align_(align) {}

  static constexpr int64_t kNobody = -1;

  // Checks that [at, at + size) is free, but for the block of `allowed`, and says from which second it may be written.
  Result<double> claim(int64_t at, int64_t size, int64_t allowed = kNobody);
  Block& hold(size_t tensor, int64_t at, int64_t size);
  void release(size_t tensor);                             // its bytes are still in use until busy_s
  void hand_over(size_t tensor);                           // its bytes have a new owner at once
  void use_until(int64_t at, int64_t size, double until);  // bytes in use that belong to nobody: a workspace
  void forget(double now);                                 // what ended by `now` can delay nobody any more

  Block& block(size_t tensor) { return blocks_[tensor]; }
  bool holds(size_t tensor) const { return blocks_[tensor].held; }
  int64_t at(size_t tensor) const { return blocks_[tensor].at; }
  size_t staging() const { return blocks_.size() - 1; }  // the pager's buffer stands behind the tensors
  int64_t bytes_held() const { return bytes_held_; }
  int64_t top() const { return top_; }  // largest offset + size that was ever claimed

 private:
  struct InUse {
    int64_t at, size;
    double until;
  };

  void drop(size_t tensor);

  std::vector<Block> blocks_;            // by tensor
  std::map<int64_t, size_t> holder_at_;  // offset -> tensor, of blocks that are not empty; they never overlap
  std::vector<InUse> in_use_;
  size_t forget_above_ = 64;
  int64_t align_, bytes_held_ = 0, top_ = 0;
};

inline bool overlap(int64_t at, int64_t size, int64_t other_at, int64_t other_size) {
  return size > 0 && other_size > 0 && at < other_at + other_size && other_at < at + size;
}

}  // namespace pantoum::check
