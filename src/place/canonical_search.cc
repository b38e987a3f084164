#include "place/canonical_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace pantoum::place {

bool searchable(const Boxes& boxes) {
  int64_t incidences = 0;
  for (const Box& box : boxes.boxes)
    for (const Interval& interval : box.live) incidences += interval.end - interval.begin;
  return boxes.boxes.size() <= kMostSearchedBoxes && incidences <= kMostSearchedIncidences;
}

int64_t nodes_of_visit(size_t boxes, int32_t sections) {
  constexpr int64_t kPerNode = 256;
  return 1 + (static_cast<int64_t>(boxes) + sections) / kPerNode;
}

int64_t nodes_of_descent(const Boxes& boxes) {
  const size_t all = boxes.boxes.size();
  return static_cast<int64_t>(all) * nodes_of_visit(all / 2, boxes.moments);
}

CanonicalSearch::CanonicalSearch(const Boxes& boxes, Bytes budget)
    : boxes_(boxes), budget_(budget), skyline_(boxes, budget) {
  const Interval whole{0, boxes_.moments};
  possible_ = skyline_.least_headroom(whole) >= 0 && settle_ground();
  std::vector<int32_t> all(boxes_.boxes.size());
  std::iota(all.begin(), all.end(), 0);
  pool_ = all;
  unsolved_ = split({0, all.size(), whole});
}

Outcome CanonicalSearch::run(const std::vector<int32_t>& rank, SearchLimit& limit) {
  if (!possible_) return Outcome::kNone;
  rank_ = rank;
  find_twins();
  std::vector<Part> left;
  for (size_t part = 0; part < unsolved_.size(); ++part) {
    const auto share = limit.nodes / static_cast<int64_t>(unsolved_.size() - part);
    const Outcome outcome = run_part(unsolved_[part], share, limit);
    if (outcome == Outcome::kNone) return outcome;
    if (outcome == Outcome::kLimit) left.push_back(unsolved_[part]);
  }
  unsolved_ = left;
  return unsolved_.empty() ? Outcome::kFound : Outcome::kLimit;
}

Outcome CanonicalSearch::run_part(const Part& part, int64_t nodes, SearchLimit& limit) {
  SearchLimit own{nodes, limit.deadline};
  limit_ = &own;
  const Outcome outcome = descend(part, {0, -1});
  limit.nodes -= nodes - own.nodes;
  return outcome;
}

// Boxes of equal size and lifetime are placed in the order of their ranks.
void CanonicalSearch::find_twins() {
  std::vector<int32_t> sorted;
  for (size_t number = 0; number < boxes_.boxes.size(); ++number)
    if (!boxes_.boxes[number].fixed && boxes_.boxes[number].live.size() == 1)
      sorted.push_back(static_cast<int32_t>(number));
  const auto key = [this](int32_t number) {
    return std::tuple(box(number).live[0].begin, box(number).live[0].end, box(number).size, box(number).bytes);
  };
  std::sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) {
    return key(a) != key(b) ? key(a) < key(b) : rank_[index(a)] < rank_[index(b)];
  });
  twin_before_.assign(boxes_.boxes.size(), -1);
  for (size_t next = 1; next < sorted.size(); ++next)
    if (key(sorted[next - 1]) == key(sorted[next])) twin_before_[index(sorted[next])] = sorted[next - 1];
}

// Places fixed boxes under which nothing fits: on the ground, or wholly upon others of them.
bool CanonicalSearch::settle_ground() {
  std::vector<int32_t> fixed;
  for (size_t number = 0; number < boxes_.boxes.size(); ++number)
    if (boxes_.boxes[number].fixed) fixed.push_back(static_cast<int32_t>(number));
  std::sort(fixed.begin(), fixed.end(), [this](int32_t a, int32_t b) { return *box(a).fixed < *box(b).fixed; });
  std::vector<Bytes> ground(index(boxes_.moments), 0);
  for (const int32_t number : fixed) {
    const Box& next = box(number);
    const auto lies_on_ground = [&](const Interval& interval) {
      return std::all_of(ground.begin() + interval.begin, ground.begin() + interval.end,
                         [&](Bytes height) { return height == *next.fixed; });
    };
    if (!std::all_of(next.live.begin(), next.live.end(), lies_on_ground)) continue;
    if (*next.fixed + next.bytes > budget_ || !skyline_.settle(number, *next.fixed)) return false;
    for (const Interval& interval : next.live)
      std::fill(ground.begin() + interval.begin, ground.begin() + interval.end, *next.fixed + next.size);
  }
  return skyline_.has_headroom({0, boxes_.moments});
}

// The parts know nothing of each other.
Outcome CanonicalSearch::each_part(const Part& part, Level level) {
  const size_t mark = skyline_.mark(), pool_mark = pool_.size();
  Outcome outcome = Outcome::kFound;
  for (const Part& next : split(part)) {
    outcome = descend(next, level);
    if (outcome == Outcome::kFound) continue;
    skyline_.undo(mark);
    break;
  }
  pool_.resize(pool_mark);
  return outcome;
}

// Splits what is still open where no box crosses; the smallest part comes first.
std::vector<CanonicalSearch::Part> CanonicalSearch::split(const Part& part) {
  const auto begin = [this](int32_t number) { return box(number).live.front().begin; };
  std::vector<int32_t> open;
  for (size_t at = part.from; at < part.to; ++at)
    if (skyline_.open(pool_[at])) open.push_back(pool_[at]);
  std::sort(open.begin(), open.end(),
            [&](int32_t a, int32_t b) { return begin(a) != begin(b) ? begin(a) < begin(b) : a < b; });
  std::vector<Part> parts;
  for (const int32_t number : open) {
    if (parts.empty() || begin(number) >= parts.back().range.end)
      parts.push_back({pool_.size(), pool_.size(), {begin(number), begin(number)}});
    pool_.push_back(number);
    ++parts.back().to;
    parts.back().range.end = std::max(parts.back().range.end, box(number).live.back().end);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.to - a.from < b.to - b.from; });
  return parts;
}

Outcome CanonicalSearch::descend(const Part& part, Level level) {
  const size_t from = pool_.size();
  list_open(part, level);
  Outcome outcome = Outcome::kNone;
  if (pool_.size() == from) {
    outcome = Outcome::kFound;
  } else if (skyline_.raise_sunk(sunk_, level.at)) {
    outcome = try_each({from, pool_.size(), part.range}, level);
  }
  pool_.resize(from);
  return outcome;
}

// The open boxes of a part go onto the pool; those among them that the level has passed are sunk.
void CanonicalSearch::list_open(const Part& part, Level level) {
  sunk_.clear();
  for (size_t at = part.from; at < part.to; ++at) {
    const int32_t number = pool_[at];
    if (!skyline_.open(number)) continue;
    pool_.push_back(number);
    if (below(number, level)) sunk_.push_back(number);
  }
}

bool CanonicalSearch::below(int32_t number, Level level) const {
  if (box(number).fixed) return *box(number).fixed < level.at;
  const Bytes at = skyline_.offset(number);
  return at < level.at || (at == level.at && rank_[index(number)] < level.rank);
}

Outcome CanonicalSearch::try_each(const Part& open, Level level) {
  const size_t from = candidates_.size();
  list_candidates(open.from, open.to, level);
  const Bytes least_headroom = skyline_.least_headroom(open.range);
  Outcome outcome = Outcome::kNone;
  for (size_t next = from; next < candidates_.size() && outcome == Outcome::kNone; ++next)
    outcome = try_next(open, candidates_[next], least_headroom);
  candidates_.resize(from);
  return outcome;
}

// What may go next: at or above the level, and with no other box that would fit wholly below.
void CanonicalSearch::list_candidates(size_t from, size_t to, Level level) {
  Bytes lowest_top = std::numeric_limits<Bytes>::max();
  for (size_t at = from; at < to; ++at)
    if (!box(pool_[at]).fixed) lowest_top = std::min(lowest_top, skyline_.offset(pool_[at]) + box(pool_[at]).size);
  const size_t first = candidates_.size();
  for (size_t at = from; at < to; ++at) {
    const int32_t number = pool_[at];
    const Bytes offset = box(number).fixed.value_or(skyline_.offset(number));
    if (offset >= lowest_top || offset < skyline_.bound(number) || below(number, level)) continue;
    const int32_t twin = twin_before_[index(number)];
    if (twin < 0 || !skyline_.open(twin)) candidates_.push_back({offset, rank_[index(number)], number});
  }
  std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(first), candidates_.end());
}

Outcome CanonicalSearch::try_next(const Part& open, Candidate next, Bytes least_headroom) {
  if (limit_reached(open)) return Outcome::kLimit;
  if (next.at + box(next.box).bytes > budget_) return Outcome::kNone;
  const size_t mark = skyline_.mark();
  Outcome outcome = Outcome::kNone;
  if (skyline_.place(next.box, next.at) &&
      (next.at <= least_headroom || next.at <= skyline_.least_headroom(open.range))) {
    const Level level{next.at, next.rank};
    outcome = splits(next.box) ? each_part(open, level) : descend(open, level);
  }
  if (outcome != Outcome::kFound) skyline_.undo(mark);
  return outcome;
}

bool CanonicalSearch::splits(int32_t number) const {
  for (int32_t moment = box(number).live.front().begin + 1; moment < box(number).live.back().end; ++moment)
    if (!skyline_.crossed(moment)) return true;
  return false;
}

bool CanonicalSearch::limit_reached(const Part& open) {
  if (limit_->nodes <= 0) return true;
  limit_->nodes -= nodes_of_visit(open.to - open.from, open.range.end - open.range.begin);
  if (++visits_ % 64 != 0 || !past(limit_->deadline)) return false;
  limit_->nodes = 0;
  return true;
}

}  // namespace pantoum::place
