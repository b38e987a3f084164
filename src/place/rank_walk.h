// The canonical search under many orders, each for a short time, for smaller and smaller arenas.
//
// How long the search takes has a heavy tail: most orders lead nowhere, a few to offsets within some hundred nodes. So it is
// begun again and again, with an order near the last one that led to offsets. After Gomes, Selman, Kautz, "Boosting
// Combinatorial Search Through Randomization" (AAAI 1998); the walk from order to order is that of a local search.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "place/boxes.h"
#include "place/canonical_search.h"
#include "place/greedy.h"

namespace pantoum::place {

class RankWalk {
 public:
  // Searchable boxes, which must outlive it. It goes for an arena of `goal` bytes.
  // `first`: by box, an order that it begins with; none: those of search_ranks().
  RankWalk(const Boxes& boxes, Bytes goal, std::vector<int32_t> first = {})
      : boxes_(boxes), goal_(goal), ranks_(search_ranks(boxes)), last_(std::move(first)) {
    if (!last_.empty()) ranks_.insert(ranks_.begin(), last_);
  }

  // Begins no search after `nodes`. Every smaller arena that is found replaces `best`. kNone: proved that none has as few
  // bytes as the goal. May be run again while it says kLimit.
  Outcome run(Offsets& best, SearchLimit& limit, int64_t nodes) {
    while (nodes > 0 && limit.nodes > 0 && best.arena > goal_ && !past(limit.deadline)) {
      const Bytes excess = best.arena - goal_;
      const Bytes less = std::max(static_cast<Bytes>(part_ * static_cast<double>(excess)), best.arena / kLeastStep);
      const Bytes goal = std::max(goal_, best.arena - less);
      std::vector<int32_t> rank = near_rank();
      CanonicalSearch search(boxes_, goal);
      SearchLimit some{std::min(std::max(kLeastNodes, kDescents * nodes_of_descent(boxes_)), limit.nodes),
                       limit.deadline};
      const int64_t granted = some.nodes;
      const Outcome outcome = search.run(rank, some);
      const int64_t used = std::max<int64_t>(1, granted - some.nodes);
      nodes -= used;
      limit.nodes -= used;
      if (outcome == Outcome::kNone && goal == goal_) return Outcome::kNone;
      learn(outcome == Outcome::kFound);
      if (outcome != Outcome::kFound) continue;
      last_ = std::move(rank);
      best = {search.at(), arena_of(boxes_, search.at())};
    }
    return best.arena <= goal_ ? Outcome::kFound : Outcome::kLimit;
  }

 private:
  static constexpr int64_t kLeastNodes = 2000, kDescents = 4;  // of one search
  static constexpr double kReach[] = {0.02, 0.006, 0.002};     // of all ranks, that one moves by
  static constexpr uint64_t kAnewEvery = 4;                    // searches begin from one of the first orders
  static constexpr int32_t kPatience = 12;  // searches, and the next arena need not be so much smaller
  static constexpr double kSmallestPart = 0.02, kLargestPart = 0.5;
  static constexpr Bytes kLeastStep = 1000;  // the arena's part, by which the next is to be smaller at the least

  std::vector<int32_t> near_rank() {
    const uint64_t number = tries_++;
    const std::vector<int32_t>& from =
        last_.empty() || number % kAnewEvery == 0 ? ranks_[number % ranks_.size()] : last_;
    if (number < ranks_.size()) return ranks_[number];
    const double reach = kReach[random_.next() % std::size(kReach)] * static_cast<double>(from.size());
    std::vector<double> keys;
    keys.reserve(from.size());
    for (const int32_t rank : from) keys.push_back(rank + reach * normal());
    std::vector<int32_t> order(from.size());
    std::iota(order.begin(), order.end(), 0);
    const auto key = [&](int32_t box) { return keys[position_of(box)]; };
    std::ranges::stable_sort(order, {}, key);
    return ranks_in(order);
  }

  void learn(bool found) {
    if (found) {
      part_ = std::min(kLargestPart, part_ * 1.5);
      missed_ = 0;
    } else if (++missed_ % kPatience == 0) {
      part_ = std::max(kSmallestPart, part_ / 2);
    }
  }

  // Nearly normally distributed: the sum of twelve uniform numbers.
  double normal() {
    double sum = -6;
    for (int each = 0; each < 12; ++each) sum += static_cast<double>(random_.next() >> 11) * 0x1p-53;
    return sum;
  }

  const Boxes& boxes_;
  const Bytes goal_;
  std::vector<std::vector<int32_t>> ranks_;
  std::vector<int32_t> last_;  // that led to offsets
  double part_ = 0.5;          // of the excess, that the next arena is to be smaller by
  int32_t missed_ = 0;         // searches since
  uint64_t tries_ = 0;
  base::Random random_{1};
};

}  // namespace pantoum::place
