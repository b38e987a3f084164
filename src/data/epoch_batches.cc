#include "data/epoch_batches.h"

#include <array>
#include <numeric>
#include <utility>

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

class EpochBatches {
 public:
  EpochBatches(std::shared_ptr<const BatchLoader> loader, const EpochOptions& options, std::span<uint32_t> indices)
      : loader_(std::move(loader)),
        seed_(options.seed),
        batch_(static_cast<uint64_t>(options.batch)),
        shuffle_(options.shuffle),
        indices_(indices),
        per_epoch_(whole_steps(options, indices.size())) {}

  Result<void> fill(uint64_t number, std::span<const BatchView> batch) {
    if (per_epoch_ == 0) return fail("E0262", "the data hold fewer samples than a batch", {}, "use a smaller --batch");
    const uint64_t epoch = (number - 1) / per_epoch_, position = (number - 1) % per_epoch_;
    if (epoch != epoch_) order(epoch);
    epoch_ = epoch;
    const Augmentation& augmentation = loader_->augmentation();
    for (uint64_t row = 0; row < batch_; ++row) {
      const uint32_t index = indices_[position * batch_ + row];
      const Change change = draw_change(augmentation, seed_, epoch, index);
      PANTOUM_TRY(loader_->load(index, batch, static_cast<int64_t>(row), augmentation.any() ? &change : nullptr));
    }
    return {};
  }

 private:
  void order(uint64_t epoch) {
    if (shuffle_)
      shuffle_epoch(seed_, epoch, indices_);
    else
      std::iota(indices_.begin(), indices_.end(), 0U);
  }

  // The whole steps of an epoch, counted in batches.
  static uint64_t whole_steps(const EpochOptions& options, size_t samples) {
    const auto micro_batches = static_cast<uint64_t>(options.micro_batches);
    return samples / (static_cast<uint64_t>(options.batch) * micro_batches) * micro_batches;
  }

  std::shared_ptr<const BatchLoader> loader_;
  uint64_t seed_, batch_;
  bool shuffle_;
  std::span<uint32_t> indices_;
  uint64_t per_epoch_, epoch_ = UINT64_MAX;  // epoch_: whose order indices_ holds
};

}  // namespace

// Fisher and Yates' shuffle on Philox4x32-10: counter-based, so that an epoch's order needs no state from the epoch before.
void shuffle_epoch(uint64_t seed, uint64_t epoch, std::span<uint32_t> indices) {
  std::iota(indices.begin(), indices.end(), 0U);
  Draws draws(seed, epoch);
  for (size_t left = indices.size(); left > 1; --left)
    std::swap(indices[left - 1], indices[draws.below(static_cast<uint32_t>(left))]);
}

BatchProducer epoch_batches(std::shared_ptr<const BatchLoader> loader, const EpochOptions& options,
                            std::span<uint32_t> indices) {
  return [batches = std::make_shared<EpochBatches>(std::move(loader), options, indices)](
             uint64_t number, std::span<const BatchView> tensors) { return batches->fill(number, tensors); };
}

}  // namespace pantoum::data
