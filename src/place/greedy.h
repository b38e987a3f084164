// First-fit and best-fit in a given order: fast, and within a few percent of the load on most plans.
#pragma once

#include <vector>

#include "place/boxes.h"

namespace pantoum::place {

enum class Fit { kFirst, kBest };

struct Offsets {
  std::vector<Bytes> at;  // by box
  Bytes arena = 0;        // largest at + bytes
};

// Places the boxes in `order` (each box once; fixed ones go first whatever their rank), each in the lowest gap (kFirst)
// or the smallest gap (kBest) between those already placed that live at the same time. Cost: |boxes| * intervals.
[[nodiscard]] Offsets greedy(const Boxes& boxes, const std::vector<int32_t>& order, Fit fit);

// Orders worth trying: by size, lifetime, area, begin, end, load.
[[nodiscard]] std::vector<std::vector<int32_t>> greedy_orders(const Boxes& boxes);

// MiniMalloc's three static orders, by (lifetime, area, load), (load, area, lifetime), (load, lifetime, area): by box,
// its rank.
[[nodiscard]] std::vector<std::vector<int32_t>> search_ranks(const Boxes& boxes);

}  // namespace pantoum::place
