// Epochs over a data set as batches: the order of samples and their changes depend on (seed, epoch) alone.
#pragma once

#include <memory>
#include <span>

#include "train/batch.h"
#include "train/batch_loader.h"

namespace pantoum::train {

// The batches of steps 1, 2, ...: batch size `batch`, an epoch's short last one dropped. `loader` is bound; `indices`,
// one for each sample, outlives the producer. Allocates nothing when it is called.
[[nodiscard]] BatchProducer epoch_batches(std::shared_ptr<const BatchLoader> loader, uint64_t seed, int64_t batch,
                                          std::span<uint32_t> indices);

}  // namespace pantoum::train
