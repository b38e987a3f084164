// For tests: what a step of a wide graph leaves.
#pragma once

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "place/place.h"

namespace pantoum::place {

// Allocations of many sizes, one beginning at every moment; a quarter of them live on to the end.
inline std::vector<Allocation> wide_allocations(uint64_t seed, int32_t count, Bytes align) {
  base::Random random(seed);
  std::vector<Allocation> allocations;
  for (int32_t begin = 0; begin < count; ++begin) {
    const int32_t end = random.one_in(4) ? count : std::min(count, begin + 2 + random.below(count / 3));
    allocations.push_back(
        {.begin = begin, .end = end, .size = align * (1 + random.below(500)), .group = -1, .fixed = {}});
  }
  return allocations;
}

}  // namespace pantoum::place
