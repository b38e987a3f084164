#include "place/hill_climb.h"

#include <algorithm>

#include "base/random.h"

namespace pantoum::place {
namespace {

size_t drawn(base::Random& random, size_t below) {
  return static_cast<size_t>(random.next() % below);
}

bool meet(const Box& a, const Box& b) {
  for (const Interval& one : a.live)
    for (const Interval& other : b.live)
      if (one.begin < other.end && other.begin < one.end) return true;
  return false;
}

// A box that ends at the top of the arena, or half of the time one that lives beside it.
int32_t culprit(const Boxes& boxes, const Offsets& offsets, base::Random& random) {
  std::vector<int32_t> highest, beside;
  for (size_t box = 0; box < boxes.boxes.size(); ++box)
    if (!boxes.boxes[box].fixed && offsets.at[box] + boxes.boxes[box].bytes >= offsets.arena)
      highest.push_back(static_cast<int32_t>(box));
  if (highest.empty()) return -1;
  const int32_t top = highest[drawn(random, highest.size())];
  if (drawn(random, 2) == 0) return top;
  for (size_t box = 0; box < boxes.boxes.size(); ++box)
    if (meet(boxes.boxes[box], boxes.boxes[static_cast<size_t>(top)])) beside.push_back(static_cast<int32_t>(box));
  return beside[drawn(random, beside.size())];
}

bool take(SearchLimit& limit, size_t nodes) {
  limit.nodes -= static_cast<int64_t>(nodes);
  if (limit.nodes <= 0) return false;
  return !limit.deadline || std::chrono::steady_clock::now() < *limit.deadline;
}

}  // namespace

void hill_climb(const Boxes& boxes, std::vector<int32_t>& order, uint64_t seed, Bytes goal, SearchLimit& limit,
                Offsets& best) {
  base::Random random(seed);
  Offsets current = greedy(boxes, order, Fit::kFirst, limit.deadline);
  while (take(limit, boxes.boxes.size())) {
    if (current.arena < best.arena) best = current;
    if (best.arena <= goal) return;
    const int32_t moved = culprit(boxes, current, random);
    if (moved < 0) return;
    std::vector<int32_t> next = order;
    const auto from = std::find(next.begin(), next.end(), moved);
    const auto to =
        next.begin() + static_cast<std::ptrdiff_t>(drawn(random, static_cast<size_t>(from - next.begin()) + 1));
    std::rotate(to, from, from + 1);
    Offsets found = greedy(boxes, next, Fit::kFirst, limit.deadline);
    if (found.arena > current.arena) continue;
    current = std::move(found);
    order = std::move(next);
  }
  if (current.arena < best.arena) best = std::move(current);
}

}  // namespace pantoum::place
