// First-fit and best-fit in a given order: fast, and within a few percent of the peak on most plans.
#pragma once

#include <chrono>
#include <optional>
#include <vector>

#include "place/boxes.h"

namespace pantoum::place {

enum class Fit { kFirst, kBest };

struct Offsets {
  std::vector<Bytes> at;  // by box
  Bytes arena = 0;        // largest at + bytes
};

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

inline bool past(const Deadline& deadline) {
  return deadline && std::chrono::steady_clock::now() >= *deadline;
}

// Places the boxes in `order` (each box once; fixed ones go first whatever their rank), each in the lowest gap (kFirst)
// or the smallest gap (kBest) between those already placed that live at the same time. Cost: |boxes| * intervals. After
// the deadline the rest is put on top, which is quick.
Offsets greedy(const Boxes& boxes, const std::vector<int32_t>& order, Fit fit, const Deadline& deadline);

// Orders worth trying: by size, lifetime, area, begin, end, live bytes.
std::vector<std::vector<int32_t>> greedy_orders(const Boxes& boxes);

// Static orders for the search, by box its rank. MiniMalloc's three come first: by (duration, area, live
// bytes), (live bytes, area, duration), (live bytes, duration, area); which one is fast for an instance is a matter of
// luck, so there are more.
std::vector<std::vector<int32_t>> search_ranks(const Boxes& boxes);

// Returns for each box its place in an order.
std::vector<int32_t> ranks_in(const std::vector<int32_t>& order);

// The end of the topmost box.
Bytes arena_of(const Boxes& boxes, const std::vector<Bytes>& at);

}  // namespace pantoum::place
