// The batches of epochs over a data set. The order of samples and their changes depend on (seed, epoch) alone.
#pragma once

#include <memory>
#include <span>

#include "data/batch.h"
#include "data/batch_loader.h"

namespace pantoum::data {

// Fills `indices` with a permutation of 0 to indices.size() - 1 that depends on (seed, epoch) alone, on every machine. Linear.
void shuffle_epoch(uint64_t seed, uint64_t epoch, std::span<uint32_t> indices);

struct EpochOptions {
  uint64_t seed = 0;
  int64_t batch = 0, micro_batches = 1;  // samples of a batch, batches of a step
  bool shuffle = true;                   // false: every epoch has the order of the data
};

// A producer of the batches 1, 2, ... of all epochs; samples at the end of an epoch that fill no whole step are left out. `loader` is bound.
// `indices` has room for one index of each sample, and outlives the producer. The producer allocates nothing.
[[nodiscard]] BatchProducer epoch_batches(std::shared_ptr<const BatchLoader> loader, const EpochOptions& options,
                                          std::span<uint32_t> indices);

}  // namespace pantoum::data
