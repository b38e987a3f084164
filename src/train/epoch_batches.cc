#include "train/epoch_batches.h"

#include <utility>

#include "train/trainer.h"

namespace pantoum::train {
namespace {

class EpochBatches {
 public:
  EpochBatches(std::shared_ptr<const BatchLoader> loader, uint64_t seed, int64_t batch, std::span<uint32_t> indices)
      : loader_(std::move(loader)),
        seed_(seed),
        batch_(static_cast<uint64_t>(batch)),
        indices_(indices),
        per_epoch_(indices.size() / batch_) {}

  Result<void> fill(uint64_t step, std::span<const BatchView> batch) {
    if (per_epoch_ == 0) return fail("E0262", "the data hold fewer samples than a batch", {}, "use a smaller --batch");
    const uint64_t epoch = (step - 1) / per_epoch_, position = (step - 1) % per_epoch_;
    if (epoch != epoch_) shuffle_epoch(seed_, epoch, indices_);
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
  std::shared_ptr<const BatchLoader> loader_;
  uint64_t seed_, batch_;
  std::span<uint32_t> indices_;
  uint64_t per_epoch_, epoch_ = UINT64_MAX;  // epoch_: whose order indices_ holds
};

}  // namespace

BatchProducer epoch_batches(std::shared_ptr<const BatchLoader> loader, uint64_t seed, int64_t batch,
                            std::span<uint32_t> indices) {
  return [batches = std::make_shared<EpochBatches>(std::move(loader), seed, batch, indices)](
             uint64_t step, std::span<const BatchView> tensors) { return batches->fill(step, tensors); };
}

}  // namespace pantoum::train
