#include <algorithm>
#include <cmath>

#include "plan/search.h"

namespace pantoum::plan {
namespace {

size_t z(int32_t index) {
  return static_cast<size_t>(index);
}

// splitmix64: small, and the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next() {
    uint64_t x = state_ += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }
  // 0 .. count - 1; count > 0
  int32_t below(int32_t count) { return static_cast<int32_t>(next() % static_cast<uint64_t>(count)); }

 private:
  uint64_t state_;
};

// A random policy for a gap: kept, or given up by page or drop, mostly at once and until its use.
GapPolicy random_policy(const Model& model, int32_t gap, Random& random) {
  const Gap& span = model.gaps[z(gap)];
  const int32_t to = span.to, length = to - span.from;
  GapPolicy policy{.evict = to, .again = to, .fetch = to, .page = false};
  const bool page = may_page(model, gap), drop = may_drop(model, gap);
  const int32_t way = random.below(3);
  if (way == 0 || (!page && !drop)) return policy;
  policy.page = page && (!drop || way == 1);
  policy.evict = random.below(4) != 0 ? span.from : span.from + random.below(length);
  if (random.below(3) == 0) policy.again = policy.evict + 1 + random.below(std::max(1, to - policy.evict));
  if (policy.again > to) policy.again = to;
  return policy;
}

// The objective with a price on every byte over the budget and every second over the deadline.
struct Priced {
  double byte_price, second_price;
  [[nodiscard]] double operator()(const Outcome& outcome) const {
    return outcome.value + byte_price * outcome.excess + second_price * outcome.late;
  }
};

std::vector<int32_t> movable_gaps(const Model& model) {
  std::vector<int32_t> gaps;
  for (int32_t gap = 0; gap < static_cast<int32_t>(model.gaps.size()); ++gap) {
    const Gap& span = model.gaps[z(gap)];
    if (span.to != model.never() && span.to - span.from > 1 && (may_page(model, gap) || may_drop(model, gap)))
      gaps.push_back(gap);
  }
  return gaps;
}

bool better(const Outcome& a, const Outcome& b) {
  if (a.fits() != b.fits()) return a.fits();
  if (!a.fits() && a.excess + a.late != b.excess + b.late) return a.excess + a.late < b.excess + b.late;
  return a.value < b.value;
}

}  // namespace

SearchResult anneal(const Model& model, const Limit& limit, const SearchResult& start, uint64_t seed,
                    const SearchLimits& limits) {
  constexpr int64_t kAskEvery = 32, kCycles = 6;
  SearchResult best = start;
  const std::vector<int32_t> gaps = movable_gaps(model);
  if (gaps.empty() || !start.outcome.sound) return best;
  Simulator simulator(model, limit);
  Random random(seed);
  const double scale = std::max(1e-30, start.outcome.value);
  Priced price{scale / static_cast<double>(std::max<Bytes>(1, limit.ram)) * 4,
               limit.deadline > 0 ? 10 * scale / limit.deadline : 0};
  const int64_t rounds = limits.rounds > 0 ? limits.rounds : INT64_MAX;
  const int64_t cycle =
      limits.rounds > 0 ? std::max<int64_t>(1, rounds / kCycles) : static_cast<int64_t>(gaps.size()) * 200;
  int64_t fitting = 0, accepted = 0;
  simulator.reset(best.policy);
  for (int64_t round = 0; round < rounds; ++round) {
    if (round % cycle == 0 && round > 0) simulator.reset(best.policy);
    if (round % kAskEvery == 0 && limits.stop && limits.stop()) break;
    if (best.outcome.fits() && best.outcome.value <= limits.target) break;
    const double heat = 1 - static_cast<double>(round % cycle) / static_cast<double>(cycle);
    const double threshold = 2e-4 * scale * heat * heat;
    std::vector<Simulator::Change> changes;
    for (int32_t count = random.below(3) == 0 ? 2 : 1; count > 0; --count) {
      const int32_t gap = gaps[z(random.below(static_cast<int32_t>(gaps.size())))];
      if (changes.empty() || changes[0].gap != gap) changes.push_back({gap, random_policy(model, gap, random)});
    }
    const double before = price(simulator.outcome());
    const Outcome after = simulator.propose(changes);
    if (!after.sound || price(after) > before + threshold) {
      simulator.reject();
      continue;
    }
    simulator.accept();
    ++accepted;
    fitting += after.fits();
    if (better(after, best.outcome)) best = {simulator.policy(), after};
    if (accepted == 64) { /* a quarter to two thirds of what is accepted should fit */
      if (fitting < 16) price.byte_price *= 1.5;
      if (fitting > 44) price.byte_price /= 1.5;
      accepted = fitting = 0;
    }
  }
  return best;
}

}  // namespace pantoum::plan
