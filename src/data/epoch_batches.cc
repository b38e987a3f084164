#include "data/epoch_batches.h"

#include <numeric>
#include <utility>

#include "data/shuffle.h"

namespace pantoum::data {
namespace {

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

  // In batches.
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

BatchProducer epoch_batches(std::shared_ptr<const BatchLoader> loader, const EpochOptions& options,
                            std::span<uint32_t> indices) {
  return [batches = std::make_shared<EpochBatches>(std::move(loader), options, indices)](
             uint64_t number, std::span<const BatchView> tensors) { return batches->fill(number, tensors); };
}

}  // namespace pantoum::data
