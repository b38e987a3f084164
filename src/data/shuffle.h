// The order of samples in an epoch.
#pragma once

#include <cstdint>
#include <span>

namespace pantoum::data {

// A permutation by (seed, epoch) alone, the same on every machine. Writes `indices.size()` indices; cost: linear.
void shuffle_epoch(uint64_t seed, uint64_t epoch, std::span<uint32_t> indices);

}  // namespace pantoum::data
