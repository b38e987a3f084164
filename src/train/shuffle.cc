// Fisher and Yates' shuffle on Philox4x32-10: counter-based, so that an epoch's order needs no state from the epoch
// before.
#include <array>
#include <utility>

#include "train/trainer.h"

namespace pantoum::train {
namespace {

// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
using Block = std::array<uint32_t, 4>;

Block philox4x32_10(Block counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{0xD2511F53} * counter[0], b = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

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
  Block words_{};
  size_t used_ = 4;

  uint32_t next() {
    if (used_ == words_.size()) {
      words_ = philox4x32_10({static_cast<uint32_t>(block_), static_cast<uint32_t>(block_ >> 32),
                              static_cast<uint32_t>(epoch_), static_cast<uint32_t>(epoch_ >> 32)},
                             key_);
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

}  // namespace pantoum::train
