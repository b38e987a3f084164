// Fisher and Yates' shuffle on Philox4x32-10: counter-based, so that an epoch's order needs no state from the epoch
// before.
#include <array>
#include <utility>

#include "data/shuffle.h"
#include "kernels/portable/philox.h"

namespace pantoum::data {
namespace {

// A stream of its own: dropout uses the plain seed as its key.
constexpr uint64_t kShuffleDomain = 0x73687566666c6521;  // "shuffle!"

class Draws {
 public:
  Draws(uint64_t seed, uint64_t epoch) : epoch_(epoch) {
    const uint64_t key = seed ^ kShuffleDomain;
    key_ = {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)};
  }

  // Uniform in [0, bound), bound > 0, without bias (Lemire, "Fast random integer generation in an interval", 2019).
  uint32_t below(uint32_t bound) {
    uint64_t product = uint64_t{next()} * bound;
    if (static_cast<uint32_t>(product) < bound) {
      const uint32_t threshold = (0U - bound) % bound;
      while (static_cast<uint32_t>(product) < threshold) product = uint64_t{next()} * bound;
    }
    return static_cast<uint32_t>(product >> 32);
  }

 private:
  std::array<uint32_t, 2> key_{};
  uint64_t epoch_, block_ = 0;
  std::array<uint32_t, 4> words_{};
  size_t used_ = 4;

  uint32_t next() {
    if (used_ == words_.size()) {
      const uint32_t counter[4] = {static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32),
                                   static_cast<uint32_t>(epoch_), static_cast<uint32_t>(epoch_ >> 32)};
      pt_philox(counter, key_.data(), words_.data());
      ++block_;
      used_ = 0;
    }
    return words_[used_++];
  }
};

}  // namespace

void shuffle_epoch(uint64_t seed, uint64_t epoch, std::span<uint32_t> indices) {
  for (size_t at = 0; at < indices.size(); ++at) indices[at] = static_cast<uint32_t>(at);
  Draws draws(seed, epoch);
  for (size_t left = indices.size(); left > 1; --left)
    std::swap(indices[left - 1], indices[draws.below(static_cast<uint32_t>(left))]);
}

}  // namespace pantoum::data
