#include "place/overlap_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace pantoum::place {
namespace {

constexpr size_t kPairsPerNode = 16;  // that take about as long as a node of the canonical search
constexpr Bytes kMostUnits = std::numeric_limits<int32_t>::max() / 4;
constexpr size_t kDigits = 2048, kDigitBits = 11;  // of the radix sort
constexpr size_t kFewKinks = 64;
constexpr double kRounding = 1e-6;

// The largest number that all sizes and offsets are multiples of.
Bytes unit_of(const Boxes& boxes) {
  Bytes unit = 0;
  for (const Box& box : boxes.boxes) unit = std::gcd(std::gcd(unit, box.size), box.fixed.value_or(0));
  return std::max<Bytes>(1, unit);
}

}  // namespace

bool has_few_pairs(const Boxes& boxes) {
  std::vector<int64_t> begins(static_cast<size_t>(boxes.moments) + 1), ends(begins.size());
  Bytes highest = 0;
  for (const Box& box : boxes.boxes) {
    ++begins[static_cast<size_t>(box.live.front().begin)];
    ++ends[static_cast<size_t>(box.live.back().end)];
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

OverlapSearch::OverlapSearch(const Boxes& boxes, Bytes budget, const std::vector<Bytes>& start)
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
  for (size_t box = 0; box < at_.size(); ++box)
    for (const Pair& pair : pairs_[box])
      if (shared(static_cast<int32_t>(box), pair) > 0) wake(static_cast<int32_t>(box));
}

std::vector<Bytes> OverlapSearch::at() const {
  std::vector<Bytes> offsets;
  for (const Units at : at_) offsets.push_back(unit_ * at);
  return offsets;
}

// Boxes in the order of their beginnings: each meets those of before that have not ended.
void OverlapSearch::find_pairs() {
  std::vector<int32_t> order(pairs_.size()), open;
  std::iota(order.begin(), order.end(), 0);
  const auto& all = boxes_.boxes;
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return all[index(a)].live.front().begin < all[index(b)].live.front().begin;
  });
  for (const int32_t box : order) {
    const Box& entry = all[index(box)];
    std::erase_if(open, [&](int32_t other) { return all[index(other)].live.back().end <= entry.live.front().begin; });
    for (const int32_t other : open) {
      if ((entry.fixed && all[index(other)].fixed) || !meet(entry, all[index(other)])) continue;
      const auto here = static_cast<int32_t>(pairs_[index(box)].size());
      const auto there = static_cast<int32_t>(pairs_[index(other)].size());
      pairs_[index(box)].push_back({other, there});
      pairs_[index(other)].push_back({box, here});
    }
    open.push_back(box);
  }
}

Outcome OverlapSearch::run(SearchLimit& limit) {
  if (!possible_) return Outcome::kNone;
  for (uint32_t visits = 0; limit.nodes > 0; ++visits) {
    if (visits % 64 == 0 && past(limit.deadline)) return Outcome::kLimit;
    if (queue_.empty() && !punish()) return Outcome::kFound;
    const size_t drawn = random_.next() % queue_.size();
    const int32_t box = queue_[drawn];
    queue_[drawn] = queue_.back();
    queue_.pop_back();
    awake_[index(box)] = 0;
    limit.nodes -= 1 + static_cast<int64_t>(pairs_[index(box)].size() / kPairsPerNode);
    move(box);
  }
  return Outcome::kLimit;
}

void OverlapSearch::wake(int32_t box) {
  if (awake_[index(box)] != 0 || boxes_.boxes[index(box)].fixed) return;
  awake_[index(box)] = 1;
  queue_.push_back(box);
}

// To where it overlaps least, if that is less, or elsewhere as little.
void OverlapSearch::move(int32_t box) {
  const double before = weighted(box);
  if (before == 0) return;
  const Least least = least_overlap(box);
  if (least.overlap > before * (1 + kRounding) || least.at == at_[index(box)]) return;
  const bool better = least.overlap < before * (1 - kRounding);  // else nobody need look again: that would not end
  const auto wake_shared = [&] {
    for (const Pair& pair : pairs_[index(box)])
      if (better && shared(box, pair) > 0) wake(pair.other);
  };
  wake_shared();
  at_[index(box)] = least.at;
  wake_shared();
}

// In which a box and the other of a pair overlap.
OverlapSearch::Units OverlapSearch::shared(int32_t box, const Pair& pair) const {
  const Units from = at_[index(box)], other = at_[index(pair.other)];
  return std::max(0, std::min(from + size_[index(box)], other + size_[index(pair.other)]) - std::max(from, other));
}

double OverlapSearch::weighted(int32_t box) const {
  double sum = 0;
  for (const Pair& pair : pairs_[index(box)]) sum += static_cast<double>(pair.weight) * shared(box, pair);
  return sum;
}

// The weighted overlap is piecewise linear in the offset, with kinks where an edge of the box meets one of another.
void OverlapSearch::find_kinks(int32_t box) {
  kinks_.clear();
  first_ = slope_ = 0;
  const Units size = size_[index(box)], highest = highest_[index(box)];
  const auto add = [&](Units at, float change) {
    if (at <= 0)
      slope_ += change;
    else if (at <= highest)
      kinks_.push_back({at, change});
  };
  for (const Pair& pair : pairs_[index(box)]) {
    const Units from = at_[index(pair.other)], other = size_[index(pair.other)], flat = std::min(size, other);
    first_ += static_cast<double>(pair.weight) * std::max(0, std::min(size, from + other) - from);
    add(from - size, pair.weight), add(from - size + flat, -pair.weight);
    add(from + other - flat, -pair.weight), add(from + other, pair.weight);
  }
}

// By offset.
void OverlapSearch::sort_kinks() {
  if (kinks_.size() < kFewKinks) {
    std::sort(kinks_.begin(), kinks_.end(), [](const Kink& a, const Kink& b) { return a.at < b.at; });
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
OverlapSearch::Least OverlapSearch::least_overlap(int32_t box) {
  find_kinks(box);
  sort_kinks();
  double value = first_, slope = slope_;
  Units at = 0;
  Least least{.at = 0, .overlap = std::numeric_limits<double>::infinity()};
  uint64_t ties = 0;
  const auto look = [&] {
    if (value > least.overlap + kRounding * (1 + std::abs(least.overlap))) return;
    if (value < least.overlap - kRounding * (1 + std::abs(value))) ties = 0;
    if (at == at_[index(box)] && ties > 0) return;
    if (++ties > 1 && random_.next() % ties != 0 && least.at != at_[index(box)]) return;
    least = {at, std::max(0.0, value)};
  };
  look();
  for (size_t kink = 0; kink < kinks_.size();) {
    value += slope * (kinks_[kink].at - at);
    at = kinks_[kink].at;
    while (kink < kinks_.size() && kinks_[kink].at == at) slope += static_cast<double>(kinks_[kink++].slope);
    look();
  }
  if (at < highest_[index(box)]) {
    value += slope * (highest_[index(box)] - at);
    at = highest_[index(box)];
    look();
  }
  return least;
}

// Nothing can be moved to any good: what overlaps weighs more from now on. False: nothing overlaps.
bool OverlapSearch::punish() {
  Bytes sum = 0;
  now_.clear();
  for (size_t box = 0; box < pairs_.size(); ++box)
    for (Pair& pair : pairs_[box]) {
      const Bytes both = unit_ * shared(static_cast<int32_t>(box), pair);
      if (index(pair.other) < box || both == 0) continue;
      sum += both;
      now_.push_back({static_cast<int32_t>(box), pair.other, both});
      pair.weight += 1;
      pairs_[index(pair.other)][index(pair.twin)].weight += 1;
      wake(static_cast<int32_t>(box)), wake(pair.other);
    }
  if (sum < least_bytes_) {
    least_bytes_ = sum;
    least_.swap(now_);
  }
  return sum > 0;
}

}  // namespace pantoum::place
