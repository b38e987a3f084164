#include "place/hill_climb.h"

#include <algorithm>

namespace pantoum::place {
namespace {

class Dice {  // SplitMix64
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}
  size_t below(size_t count) {
    uint64_t value = state_ += 0x9e3779b97f4a7c15;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return static_cast<size_t>((value ^ (value >> 31)) % count);
  }

 private:
  uint64_t state_;
};

bool meet(const Box& a, const Box& b) {
  for (const Interval& one : a.live)
    for (const Interval& other : b.live)
      if (one.begin < other.end && other.begin < one.end) return true;
  return false;
}

// A box that ends at the top of the arena, or half of the time one that lives beside it.
int32_t culprit(const Boxes& boxes, const Offsets& offsets, Dice& dice) {
  std::vector<int32_t> highest, beside;
  for (size_t box = 0; box < boxes.boxes.size(); ++box)
    if (!boxes.boxes[box].fixed && offsets.at[box] + boxes.boxes[box].bytes >= offsets.arena)
      highest.push_back(static_cast<int32_t>(box));
  if (highest.empty()) return -1;
  const int32_t top = highest[dice.below(highest.size())];
  if (dice.below(2) == 0) return top;
  for (size_t box = 0; box < boxes.boxes.size(); ++box)
    if (meet(boxes.boxes[box], boxes.boxes[static_cast<size_t>(top)])) beside.push_back(static_cast<int32_t>(box));
  return beside[dice.below(beside.size())];
}

bool take(SearchLimit& limit, size_t nodes) {
  limit.nodes -= static_cast<int64_t>(nodes);
  if (limit.nodes <= 0) return false;
  return !limit.deadline || std::chrono::steady_clock::now() < *limit.deadline;
}

}  // namespace

void hill_climb(const Boxes& boxes, std::vector<int32_t>& order, uint64_t seed, Bytes goal, SearchLimit& limit,
                Offsets& best) {
  Dice dice(seed);
  Offsets current = greedy(boxes, order, Fit::kFirst, limit.deadline);
  while (take(limit, boxes.boxes.size())) {
    if (current.arena < best.arena) best = current;
    if (best.arena <= goal) return;
    const int32_t moved = culprit(boxes, current, dice);
    if (moved < 0) return;
    std::vector<int32_t> next = order;
    const auto from = std::find(next.begin(), next.end(), moved);
    const auto to =
        next.begin() + static_cast<std::ptrdiff_t>(dice.below(static_cast<size_t>(from - next.begin()) + 1));
    std::rotate(to, from, from + 1);
    Offsets found = greedy(boxes, next, Fit::kFirst, limit.deadline);
    if (found.arena > current.arena) continue;
    current = std::move(found);
    order = std::move(next);
  }
  if (current.arena < best.arena) best = std::move(current);
}

}  // namespace pantoum::place
