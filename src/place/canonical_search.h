// Depth-first search over canonical solutions: complete, and fast where the arena is nearly full.
//
// A solution is canonical when every box rests on another one (or on the ground, or is fixed). Boxes are placed in the
// order of their offsets, so each goes onto the skyline of those before it, at or above the last one: the level.
//
// After Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning" (ASPLOS 2023),
// with one more inference: a box that the level has passed lies upon one of its open neighbours (Skyline::raise_sunk).
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

#include "place/boxes.h"
#include "place/greedy.h"
#include "place/skyline.h"

namespace pantoum::place {

struct SearchLimit {
  int64_t nodes = 0;  // that may still be visited; counted down, large ones as several (nodes_of_visit)
  Deadline deadline;  // asked for every 64 nodes
};

enum class Outcome { kFound, kNone, kLimit };  // kNone: proved that no solution exists

inline constexpr size_t kMostSearchedBoxes = 5000;
inline constexpr int64_t kMostSearchedIncidences = 20'000'000;  // boxes * moments that they live

inline bool searchable(const Boxes& boxes) {
  int64_t incidences = 0;
  for (const Box& box : boxes.boxes)
    for (const Interval& interval : box.live) incidences += interval.end - interval.begin;
  return boxes.boxes.size() <= kMostSearchedBoxes && incidences <= kMostSearchedIncidences;
}

// Returns the nodes that a visit counts as. A visit goes through all open boxes and the sections that they live in.
inline int64_t nodes_of_visit(size_t boxes, int32_t sections) {
  constexpr int64_t kPerNode = 256;
  return 1 + (static_cast<int64_t>(boxes) + sections) / kPerNode;
}
// Returns the nodes that it takes to place each box once. Half of the boxes are open in the middle.
inline int64_t nodes_of_descent(const Boxes& boxes) {
  const size_t all = boxes.boxes.size();
  return static_cast<int64_t>(all) * nodes_of_visit(all / 2, boxes.moments);
}

// Offsets with at + bytes <= budget for all boxes. What no box connects in time is solved apart, and stays solved.
class CanonicalSearch {
 public:
  // Searchable boxes, which must outlive the search.
  CanonicalSearch(const Boxes& boxes, Bytes budget) : boxes_(boxes), budget_(budget), skyline_(boxes, budget) {
    const Interval whole{0, boxes_.moments};
    possible_ = skyline_.least_headroom(whole) >= 0 && settle_ground();
    std::vector<int32_t> all(boxes_.boxes.size());
    std::iota(all.begin(), all.end(), 0);
    pool_ = all;
    unsolved_ = split({0, all.size(), whole});
  }

  // Goes on with all that is not solved yet, within the limit; `rank` breaks ties between boxes that may go next (lower
  // first). May be run again while it says kLimit. Recurses once per box.
  Outcome run(const std::vector<int32_t>& rank, SearchLimit& limit) {
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

  // Returns the offset of each box, once found.
  const std::vector<Bytes>& at() const { return skyline_.at(); }

 private:
  struct Level {
    Bytes at;
    int32_t rank;  // of the box that was placed there
  };
  struct Candidate {
    Bytes at;
    int32_t rank, box;
    bool operator<(const Candidate& other) const { return at != other.at ? at < other.at : rank < other.rank; }
  };
  struct Part {  // boxes that may be open, and the sections that they live in
    size_t from, to;
    Interval range;
  };

  // Places fixed boxes under which nothing fits: on the ground, or wholly upon others of them.
  bool settle_ground() {
    std::vector<int32_t> fixed;
    for (size_t number = 0; number < boxes_.boxes.size(); ++number)
      if (boxes_.boxes[number].fixed) fixed.push_back(static_cast<int32_t>(number));
    std::ranges::sort(fixed, {}, [this](int32_t number) { return *box(number).fixed; });
    std::vector<Bytes> ground(position_of(boxes_.moments), 0);
    for (const int32_t number : fixed) {
      const Box& next = box(number);
      const auto lies_on_ground = [&](const Interval& interval) {
        return std::all_of(ground.begin() + interval.begin, ground.begin() + interval.end,
                           [&](Bytes height) { return height == *next.fixed; });
      };
      if (!std::ranges::all_of(next.live, lies_on_ground)) continue;
      if (*next.fixed + next.bytes > budget_ || !skyline_.settle(number, *next.fixed)) return false;
      for (const Interval& interval : next.live)
        std::fill(ground.begin() + interval.begin, ground.begin() + interval.end, *next.fixed + next.size);
    }
    return skyline_.has_headroom({0, boxes_.moments});
  }

  // Boxes of equal size and lifetime are placed in the order of their ranks.
  void find_twins() {
    std::vector<int32_t> sorted;
    for (size_t number = 0; number < boxes_.boxes.size(); ++number)
      if (!boxes_.boxes[number].fixed && boxes_.boxes[number].live.size() == 1)
        sorted.push_back(static_cast<int32_t>(number));
    const auto key = [this](int32_t number) {
      return std::tuple(box(number).live[0].begin, box(number).live[0].end, box(number).size, box(number).bytes);
    };
    std::ranges::sort(sorted, [&](int32_t a, int32_t b) {
      return key(a) != key(b) ? key(a) < key(b) : rank_[position_of(a)] < rank_[position_of(b)];
    });
    twin_before_.assign(boxes_.boxes.size(), -1);
    for (size_t next = 1; next < sorted.size(); ++next)
      if (key(sorted[next - 1]) == key(sorted[next])) twin_before_[position_of(sorted[next])] = sorted[next - 1];
  }

  Outcome run_part(const Part& part, int64_t nodes, SearchLimit& limit) {
    SearchLimit own{nodes, limit.deadline};
    limit_ = &own;
    const Outcome outcome = descend(part, {0, -1});
    limit.nodes -= nodes - own.nodes;
    return outcome;
  }

  // The parts know nothing of each other.
  Outcome each_part(const Part& part, Level level) {
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
  std::vector<Part> split(const Part& part) {
    const auto begin = [this](int32_t number) { return box(number).live.front().begin; };
    std::vector<int32_t> open;
    for (size_t at = part.from; at < part.to; ++at)
      if (skyline_.open(pool_[at])) open.push_back(pool_[at]);
    std::ranges::sort(open, [&](int32_t a, int32_t b) { return begin(a) != begin(b) ? begin(a) < begin(b) : a < b; });
    std::vector<Part> parts;
    for (const int32_t number : open) {
      if (parts.empty() || begin(number) >= parts.back().range.end)
        parts.push_back({pool_.size(), pool_.size(), {begin(number), begin(number)}});
      pool_.push_back(number);
      ++parts.back().to;
      parts.back().range.end = std::max(parts.back().range.end, box(number).live.back().end);
    }
    std::ranges::stable_sort(parts, {}, [](const Part& one) { return one.to - one.from; });
    return parts;
  }

  Outcome descend(const Part& part, Level level) {
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
  void list_open(const Part& part, Level level) {
    sunk_.clear();
    for (size_t at = part.from; at < part.to; ++at) {
      const int32_t number = pool_[at];
      if (!skyline_.open(number)) continue;
      pool_.push_back(number);
      if (below(number, level)) sunk_.push_back(number);
    }
  }

  // Lists the boxes that may go next: at or above the level, if no other box would fit wholly below.
  void list_candidates(size_t from, size_t to, Level level) {
    Bytes lowest_top = std::numeric_limits<Bytes>::max();
    for (size_t at = from; at < to; ++at)
      if (!box(pool_[at]).fixed) lowest_top = std::min(lowest_top, skyline_.offset(pool_[at]) + box(pool_[at]).size);
    const size_t first = candidates_.size();
    for (size_t at = from; at < to; ++at) {
      const int32_t number = pool_[at];
      const Bytes offset = box(number).fixed.value_or(skyline_.offset(number));
      if (offset >= lowest_top || offset < skyline_.bound(number) || below(number, level)) continue;
      const int32_t twin = twin_before_[position_of(number)];
      if (twin < 0 || !skyline_.open(twin)) candidates_.push_back({offset, rank_[position_of(number)], number});
    }
    std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(first), candidates_.end());
  }

  Outcome try_each(const Part& open, Level level) {
    const size_t from = candidates_.size();
    list_candidates(open.from, open.to, level);
    const Bytes least_headroom = skyline_.least_headroom(open.range);
    Outcome outcome = Outcome::kNone;
    for (size_t next = from; next < candidates_.size() && outcome == Outcome::kNone; ++next)
      outcome = try_next(open, candidates_[next], least_headroom);
    candidates_.resize(from);
    return outcome;
  }

  Outcome try_next(const Part& open, Candidate next, Bytes least_headroom) {
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

  bool limit_reached(const Part& open) {
    if (limit_->nodes <= 0) return true;
    limit_->nodes -= nodes_of_visit(open.to - open.from, open.range.end - open.range.begin);
    if (++visits_ % 64 != 0 || !past(limit_->deadline)) return false;
    limit_->nodes = 0;
    return true;
  }

  const Box& box(int32_t number) const { return boxes_.boxes[position_of(number)]; }
  bool below(int32_t number, Level level) const {
    if (box(number).fixed) return *box(number).fixed < level.at;
    const Bytes at = skyline_.offset(number);
    return at < level.at || (at == level.at && rank_[position_of(number)] < level.rank);
  }

  bool splits(int32_t number) const {
    for (int32_t moment = box(number).live.front().begin + 1; moment < box(number).live.back().end; ++moment)
      if (!skyline_.crossed(moment)) return true;
    return false;
  }

  const Boxes& boxes_;
  const Bytes budget_;
  Skyline skyline_;
  bool possible_;
  std::vector<Part> unsolved_;
  std::vector<int32_t> rank_, twin_before_;
  std::vector<int32_t> pool_, sunk_;   // `pool_`: a stack of lists of boxes, one list per placed box
  std::vector<Candidate> candidates_;  // a stack likewise
  SearchLimit* limit_ = nullptr;
  uint32_t visits_ = 0;
};

// Proofs from a few moments: what does not fit there on its own does not fit at all.
//
//   address |#########       The search goes through all of time at once, and may shuffle boxes far from
//           |   +--+   ##    the conflict for ever. At one moment next to fixed boxes (#), or in a few
//           |###+--+#####    moments, it soon has tried all.
//           +---|--|--> time

// True when the boxes that live in some window of 2 * reach + 1 moments do not fit in the budget. Looks at the
// windows of most live bytes first, until the limit. The boxes must be searchable.
bool some_window_overfull(const Boxes& boxes, Bytes budget, int32_t reach, SearchLimit& limit);

}  // namespace pantoum::place
