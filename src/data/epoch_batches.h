// Epochs over a data set as batches: the order of samples and their changes depend on (seed, epoch) alone.
#pragma once

#include <memory>
#include <span>

#include "data/batch.h"
#include "data/batch_loader.h"

namespace pantoum::data {

struct EpochOptions {
  uint64_t seed = 0;
  int64_t batch = 0, micro_batches = 1;  // samples of a batch, batches of a step
  bool shuffle = true;                   // else every epoch has the data's own order
};

// The batches 1, 2, ... of all epochs; of an epoch only whole steps. `loader` is bound; `indices`, one for each sample,
// outlives the producer. Allocates nothing when it is called.
[[nodiscard]] BatchProducer epoch_batches(std::shared_ptr<const BatchLoader> loader, const EpochOptions& options,
                                          std::span<uint32_t> indices);

}  // namespace pantoum::data
