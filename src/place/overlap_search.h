// Guided local search over overlaps: every box has an offset within the budget from the start, and what overlaps is moved
// until nothing does. Finds offsets in arenas that are a few percent above the live bytes where boxes are many and small
// beside the arena, which orders of first-fit and the canonical search do not; proves nothing.
//
// A box is moved to the offset at which the weighted bytes that it shares with others are least; where no move helps, the
// pairs that still overlap weigh more from then on. After Faroe, Pisinger, Zachariasen, "Guided Local Search for the
// Three-Dimensional Bin-Packing Problem" (INFORMS Journal on Computing 2003), with time as the axis that is given.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.h"
#include "place/boxes.h"
#include "place/canonical_search.h"

namespace pantoum::place {

inline constexpr int64_t kMostPairs = 20'000'000;  // of boxes that live at the same time

inline constexpr Bytes kMostUnits = std::numeric_limits<int32_t>::max() / 4;

// The largest number that all sizes and offsets are multiples of.
inline Bytes unit_of(const Boxes& boxes) {
  Bytes unit = 0;
  for (const Box& box : boxes.boxes) unit = std::gcd(std::gcd(unit, box.size), box.fixed.value_or(0));
  return std::max<Bytes>(1, unit);
}

// Are there few enough pairs, and sizes that can be counted in an int32? Cost: linear.
inline bool has_few_pairs(const Boxes& boxes) {
  std::vector<int64_t> begins(position_of(boxes.moments) + 1), ends(begins.size());
  Bytes highest = 0;
  for (const Box& box : boxes.boxes) {
    ++begins[position_of(box.live.front().begin)];
    ++ends[position_of(box.live.back().end)];
    highest += box.size + box.fixed.value_or(0);
  }
  if (highest / unit_of(boxes) > kMostUnits) return false;
  int64_t pairs = 0, alive = 0;
  for (size_t moment = 0; moment < begins.size() && pairs <= kMostPairs; ++moment) {
    alive -= ends[moment];
    pairs += begins[moment] * (2 * alive + begins[moment]);
    alive += begins[moment];
  }
  return pairs <= kMostPairs;
}

class OverlapSearch {
 public:
  // Boxes with few pairs, which must outlive the search. `start`: an offset for every box, where it begins.
  OverlapSearch(const Boxes& boxes, Bytes budget, const std::vector<Bytes>& start)
      : boxes_(boxes), unit_(unit_of(boxes)), pairs_(boxes.boxes.size()), awake_(boxes.boxes.size()) {
    for (size_t box = 0; box < boxes.boxes.size(); ++box) {
      const Box& entry = boxes.boxes[box];
      possible_ = possible_ && entry.fixed.value_or(0) + entry.bytes <= budget;
      const Bytes highest = std::max<Bytes>(0, (budget - entry.bytes) / unit_);
      size_.push_back(static_cast<Units>(entry.size / unit_));
      highest_.push_back(static_cast<Units>(std::min<Bytes>(highest, kMostUnits)));
      at_.push_back(entry.fixed ? static_cast<Units>(*entry.fixed / unit_)
                                : static_cast<Units>(std::min<Bytes>(start[box] / unit_, highest_.back())));
    }
    find_pairs();
    for (const int32_t box : at_.indices())
      for (const Pair& pair : pairs_[box])
        if (shared(box, pair) > 0) wake(box);
  }

  // kFound: at() has no overlap, and at + bytes <= budget for all boxes; kNone: what is fixed, or one box alone, does not
  // fit. A node is a box that is looked at, or a part of those that live beside it. May be run again while it says kLimit.
  Outcome run(SearchLimit& limit) {
    if (!possible_) return Outcome::kNone;
    for (uint32_t visits = 0; limit.nodes > 0; ++visits) {
      if (visits % 64 == 0 && past(limit.deadline)) return Outcome::kLimit;
      if (queue_.empty() && !punish()) return Outcome::kFound;
      const size_t drawn = random_.next() % queue_.size();
      const int32_t box = queue_[drawn];
      queue_[drawn] = queue_.back();
      queue_.pop_back();
      awake_[box] = 0;
      limit.nodes -= 1 + static_cast<int64_t>(pairs_[box].size() / kPairsPerNode);
      move(box);
    }
    return Outcome::kLimit;
  }

  // Returns the offset of each box.
  std::vector<Bytes> at() const {
    std::vector<Bytes> offsets;
    for (const Units at : at_) offsets.push_back(unit_ * at);
    return offsets;
  }

  struct Overlap {
    int32_t one = 0, other = 0;  // boxes
    Bytes bytes = 0;
  };
  // Returns the overlaps of the offsets with the fewest shared bytes so far. These are looked at whenever no move
  // helps. Valid after kLimit.
  const std::vector<Overlap>& least_overlaps() const { return least_; }

 private:
  static constexpr size_t kPairsPerNode = 16;               // that take about as long as a node of the canonical search
  static constexpr size_t kDigits = 2048, kDigitBits = 11;  // of the radix sort
  static constexpr size_t kFewKinks = 64;
  static constexpr double kRounding = 1e-6;

  using Units = int32_t;          // what all offsets and sizes are multiples of is 1
  struct Pair {                   // of a box: one that lives at the same time
    int32_t other = 0, twin = 0;  // the place of this pair in the other's list
    float weight = 1;
  };
  struct Kink {  // of the weighted overlap along the offsets
    Units at = 0;
    float slope = 0;
  };
  struct Least {
    Units at = 0;
    double overlap = 0;
  };

  // Boxes in the order of their beginnings: each meets those of before that have not ended.
  void find_pairs() {
    std::vector<int32_t> order(pairs_.size()), open;
    std::iota(order.begin(), order.end(), 0);
    const auto& all = boxes_.boxes;
    std::ranges::stable_sort(order, {}, [&](int32_t box) { return all[position_of(box)].live.front().begin; });
    for (const int32_t box : order) {
      const Box& entry = all[position_of(box)];
      std::erase_if(open,
                    [&](int32_t other) { return all[position_of(other)].live.back().end <= entry.live.front().begin; });
      for (const int32_t other : open) {
        if ((entry.fixed && all[position_of(other)].fixed) || !meet(entry, all[position_of(other)])) continue;
        const auto here = static_cast<int32_t>(pairs_[box].size());
        const auto there = static_cast<int32_t>(pairs_[other].size());
        pairs_[box].push_back({other, there});
        pairs_[other].push_back({box, here});
      }
      open.push_back(box);
    }
  }

  void wake(int32_t box) {
    if (awake_[box] != 0 || boxes_.boxes[position_of(box)].fixed) return;
    awake_[box] = 1;
    queue_.push_back(box);
  }

  // Moves the box to where it overlaps less, or elsewhere as little.
  void move(int32_t box) {
    const double before = weighted(box);
    if (before == 0) return;
    const Least least = least_overlap(box);
    if (least.overlap > before * (1 + kRounding) || least.at == at_[box]) return;
    const bool better = least.overlap < before * (1 - kRounding);  // else nobody need look again: that would not end
    const auto wake_shared = [&] {
      for (const Pair& pair : pairs_[box])
        if (better && shared(box, pair) > 0) wake(pair.other);
    };
    wake_shared();
    at_[box] = least.at;
    wake_shared();
  }

  // Returns the units that a box and the other box of a pair share.
  Units shared(int32_t box, const Pair& pair) const {
    const Units from = at_[box], other = at_[pair.other];
    return std::max(0, std::min(from + size_[box], other + size_[pair.other]) - std::max(from, other));
  }

  double weighted(int32_t box) const {
    double sum = 0;
    for (const Pair& pair : pairs_[box]) sum += static_cast<double>(pair.weight) * shared(box, pair);
    return sum;
  }

  // The weighted overlap is piecewise linear in the offset, with kinks where an edge of the box meets one of another.
  void find_kinks(int32_t box) {
    kinks_.clear();
    first_ = slope_ = 0;
    const Units size = size_[box], highest = highest_[box];
    const auto add = [&](Units at, float change) {
      if (at <= 0)
        slope_ += change;
      else if (at <= highest)
        kinks_.push_back({at, change});
    };
    for (const Pair& pair : pairs_[box]) {
      const Units from = at_[pair.other], other = size_[pair.other], flat = std::min(size, other);
      first_ += static_cast<double>(pair.weight) * std::max(0, std::min(size, from + other) - from);
      add(from - size, pair.weight), add(from - size + flat, -pair.weight);
      add(from + other - flat, -pair.weight), add(from + other, pair.weight);
    }
  }

  // Sorts the kinks by offset.
  void sort_kinks() {
    if (kinks_.size() < kFewKinks) {
      std::ranges::sort(kinks_, {}, &Kink::at);
      return;
    }
    Units highest = 0;
    for (const Kink& kink : kinks_) highest = std::max(highest, kink.at);
    sorted_.resize(kinks_.size());
    for (size_t shift = 0; shift < 32 && (highest >> shift) > 0; shift += kDigitBits) {
      std::array<uint32_t, kDigits> count{};
      const auto digit = [&](const Kink& kink) { return (static_cast<uint32_t>(kink.at) >> shift) % kDigits; };
      for (const Kink& kink : kinks_) ++count[digit(kink)];
      uint32_t sum = 0;
      for (uint32_t& each : count) sum += std::exchange(each, sum);
      for (const Kink& kink : kinks_) sorted_[count[digit(kink)]++] = kink;
      kinks_.swap(sorted_);
    }
  }

  // The offset at which the weighted overlap is least; of several any, but for the one that it has.
  Least least_overlap(int32_t box) {
    find_kinks(box);
    sort_kinks();
    double value = first_, slope = slope_;
    Units at = 0;
    Least least{.at = 0, .overlap = std::numeric_limits<double>::infinity()};
    uint64_t ties = 0;
    const auto look = [&] {
      if (value > least.overlap + kRounding * (1 + std::abs(least.overlap))) return;
      if (value < least.overlap - kRounding * (1 + std::abs(value))) ties = 0;
      if (at == at_[box] && ties > 0) return;
      if (++ties > 1 && random_.next() % ties != 0 && least.at != at_[box]) return;
      least = {at, std::max(0.0, value)};
    };
    look();
    for (size_t kink = 0; kink < kinks_.size();) {
      value += slope * (kinks_[kink].at - at);
      at = kinks_[kink].at;
      while (kink < kinks_.size() && kinks_[kink].at == at) slope += static_cast<double>(kinks_[kink++].slope);
      look();
    }
    if (at < highest_[box]) {
      value += slope * (highest_[box] - at);
      at = highest_[box];
      look();
    }
    return least;
  }

  // No move helps any more, so pairs that overlap weigh more from now on. False: nothing overlaps.
  bool punish() {
    Bytes sum = 0;
    now_.clear();
    for (const int32_t box : pairs_.indices())
      for (Pair& pair : pairs_[box]) {
        const Bytes both = unit_ * shared(box, pair);
        if (pair.other < box || both == 0) continue;
        sum += both;
        now_.push_back({box, pair.other, both});
        pair.weight += 1;
        pairs_[pair.other][position_of(pair.twin)].weight += 1;
        wake(box), wake(pair.other);
      }
    if (sum < least_bytes_) {
      least_bytes_ = sum;
      least_.swap(now_);
    }
    return sum > 0;
  }

  const Boxes& boxes_;
  Bytes unit_ = 1;
  bool possible_ = true;
  ByNumber<std::vector<Pair>> pairs_;
  ByNumber<Units> at_, size_, highest_;  // by box; `highest_`: the highest offset that it may have
  ByNumber<char> awake_;
  std::vector<int32_t> queue_;  // boxes that are awake
  std::vector<Kink> kinks_, sorted_;
  double first_ = 0, slope_ = 0;  // of the weighted overlap at offset 0
  std::vector<Overlap> least_, now_;
  Bytes least_bytes_ = std::numeric_limits<Bytes>::max();
  base::Random random_{1};
};

}  // namespace pantoum::place
