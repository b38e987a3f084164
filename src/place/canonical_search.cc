#include "place/canonical_search.h"

#include <algorithm>
#include <limits>
#include <tuple>

namespace pantoum::place {
namespace {

class Search {
 public:
  Search(const Boxes& boxes, Bytes capacity, const std::vector<int32_t>& rank, SearchLimit& limit)
      : boxes_(boxes.boxes), rank_(rank), limit_(limit), capacity_(capacity) {
    const auto moments = static_cast<size_t>(boxes.moments);
    left_.assign(moments, 0);
    crossing_.assign(moments + 1, 0);
    offset_.assign(boxes_.size(), 0);
    placed_.assign(boxes_.size(), 0);
    at_.assign(boxes_.size(), 0);
    alive_.resize(moments);
    stamp_.assign(std::max(moments, boxes_.size()), 0);
    for (size_t box = 0; box < boxes_.size(); ++box) enter(static_cast<int32_t>(box));
    find_twins();
  }

  Outcome run() {
    for (const int64_t left : left_)
      if (left > rounded_capacity()) return Outcome::kNone;
    std::vector<int32_t> all(boxes_.size());
    for (size_t box = 0; box < all.size(); ++box) all[box] = static_cast<int32_t>(box);
    return each_part(all, 0, -1);
  }

  [[nodiscard]] std::vector<Bytes> offsets() const { return at_; }

 private:
  struct Candidate {
    Bytes at;
    int32_t rank, box;
    bool operator<(const Candidate& other) const { return at != other.at ? at < other.at : rank < other.rank; }
  };

  void enter(int32_t box) {
    slack_ = std::max(slack_, size(box) - bytes(box));
    for (const Interval& interval : live(box))
      for (int32_t moment = interval.begin; moment < interval.end; ++moment) {
        left_[index(moment)] += size(box);
        alive_[index(moment)].push_back(box);
      }
    for (int32_t moment = first(box) + 1; moment < last(box); ++moment) ++crossing_[index(moment)];
  }

  // Boxes of equal size and lifetime are placed in the order of their numbers.
  void find_twins() {
    std::vector<int32_t> sorted;
    for (size_t box = 0; box < boxes_.size(); ++box)
      if (!boxes_[box].fixed && boxes_[box].live.size() == 1) sorted.push_back(static_cast<int32_t>(box));
    const auto key = [this](int32_t box) {
      return std::tuple(first(box), last(box), size(box), bytes(box), rank_[index(box)]);
    };
    std::sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) { return key(a) < key(b); });
    twin_before_.assign(boxes_.size(), -1);
    for (size_t next = 1; next < sorted.size(); ++next) {
      const int32_t a = sorted[next - 1], b = sorted[next];
      if (first(a) == first(b) && last(a) == last(b) && size(a) == size(b) && bytes(a) == bytes(b))
        twin_before_[index(b)] = a;
    }
  }

  // Splits what is not placed yet where no box crosses; the parts know nothing of each other.
  Outcome each_part(const std::vector<int32_t>& boxes, Bytes level, int32_t level_rank) {
    std::vector<int32_t> open;
    for (const int32_t box : boxes)
      if (!placed_[index(box)]) open.push_back(box);
    std::sort(open.begin(), open.end(),
              [this](int32_t a, int32_t b) { return first(a) != first(b) ? first(a) < first(b) : a < b; });
    std::vector<std::vector<int32_t>> parts;
    int32_t reach = -1;
    for (const int32_t box : open) {
      if (first(box) >= reach) parts.emplace_back();
      parts.back().push_back(box);
      reach = std::max(reach, last(box));
    }
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
    const size_t mark = trail_.size();
    for (const auto& part : parts) {
      const Outcome outcome = descend(part, level, level_rank);
      if (outcome == Outcome::kFound) continue;
      undo(mark);
      return outcome;
    }
    return Outcome::kFound;
  }

  // The boxes that may go next: on the skyline at or above `level`, and with no other one that would fit wholly below.
  std::vector<Candidate> candidates(const std::vector<int32_t>& part, Bytes level, int32_t level_rank) const {
    Bytes lowest_top = std::numeric_limits<Bytes>::max();
    for (const int32_t box : part)
      if (!placed_[index(box)] && !fixed(box)) lowest_top = std::min(lowest_top, offset_[index(box)] + size(box));
    std::vector<Candidate> result;
    for (const int32_t box : part) {
      if (placed_[index(box)]) continue;
      const Bytes at = fixed(box) ? *fixed(box) : offset_[index(box)];
      if (at < level || (at == level && rank_[index(box)] < level_rank && !fixed(box)) || at >= lowest_top) continue;
      const int32_t twin = twin_before_[index(box)];
      if (twin >= 0 && !placed_[index(twin)]) continue;
      result.push_back({at, rank_[index(box)], box});
    }
    std::sort(result.begin(), result.end());
    return result;
  }

  Outcome descend(const std::vector<int32_t>& part, Bytes level, int32_t level_rank) {
    if (limit_reached()) return Outcome::kLimit;
    for (const Candidate& next : candidates(part, level, level_rank)) {
      const size_t mark = trail_.size();
      bool split = false;
      if (put(next.box, next.at, split)) {
        const bool all = split || !any_open(part);
        const Outcome outcome = all ? each_part(part, next.at, next.rank) : descend(part, next.at, next.rank);
        if (outcome != Outcome::kNone) {
          if (outcome == Outcome::kLimit) undo(mark);
          return outcome;
        }
      }
      undo(mark);
    }
    return Outcome::kNone;
  }

  bool any_open(const std::vector<int32_t>& part) const {
    return std::any_of(part.begin(), part.end(), [this](int32_t box) { return !placed_[index(box)]; });
  }

  // Places a box; false when a section cannot take any more what must still go there. `split`: some moment is crossed
  // by no open box.
  bool put(int32_t box, Bytes at, bool& split) {
    --limit_.nodes;
    if (at + bytes(box) > capacity_ || at < offset_[index(box)]) return false;
    const Bytes top = at + size(box);
    at_[index(box)] = at;
    set(placed_[index(box)], 1);
    for (const Interval& interval : live(box))
      for (int32_t moment = interval.begin; moment < interval.end; ++moment) {
        set(left_[index(moment)], left_[index(moment)] - size(box));
      }
    for (int32_t moment = first(box) + 1; moment < last(box); ++moment) {
      set(crossing_[index(moment)], crossing_[index(moment)] - 1);
      split = split || crossing_[index(moment)] == 0;
    }
    return lift_neighbours(box, top) && check_sections(at);
  }

  // Open boxes that live beside `box` rest on it or higher. Marks the sections where one was lifted.
  bool lift_neighbours(int32_t box, Bytes top) {
    const int64_t box_mark = ++clock_;
    touched_.clear();
    lifted_.clear();
    for (const Interval& interval : live(box))
      for (int32_t moment = interval.begin; moment < interval.end; ++moment) {
        touched_.push_back(moment);
        for (const int32_t other : alive_[index(moment)]) {
          if (placed_[index(other)] || stamp_[index(other)] == box_mark) continue;
          stamp_[index(other)] = box_mark;
          if (offset_[index(other)] >= top) continue;
          set(offset_[index(other)], top);
          if (top + bytes(other) > capacity_ || (fixed(other) && *fixed(other) < top)) return false;
          lifted_.push_back(other);
        }
      }
    const int64_t section_mark = ++clock_;
    for (const int32_t moment : touched_) stamp_[index(moment)] = section_mark;
    for (const int32_t other : lifted_)
      for (const Interval& interval : live(other))
        for (int32_t moment = interval.begin; moment < interval.end; ++moment)
          if (stamp_[index(moment)] != section_mark) {
            stamp_[index(moment)] = section_mark;
            touched_.push_back(moment);
          }
    return true;
  }

  // In each touched section, what is left goes above the lowest open box.
  bool check_sections(Bytes level) const {
    for (const int32_t moment : touched_) {
      const Bytes left = left_[index(moment)];
      if (left == 0) continue;
      Bytes lowest = std::numeric_limits<Bytes>::max();
      for (const int32_t other : alive_[index(moment)])
        if (!placed_[index(other)]) lowest = std::min(lowest, fixed(other) ? *fixed(other) : offset_[index(other)]);
      if (std::max(lowest, level) + left > rounded_capacity()) return false;
    }
    return true;
  }

  bool limit_reached() {
    if (limit_.nodes <= 0) return true;
    --limit_.nodes;
    if (limit_.nodes % 256 != 0 || !limit_.deadline) return false;
    if (std::chrono::steady_clock::now() < *limit_.deadline) return false;
    limit_.nodes = 0;
    return true;
  }

  void set(int64_t& value, int64_t to) {
    trail_.emplace_back(&value, value);
    value = to;
  }
  void undo(size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) *trail_.back().first = trail_.back().second;
  }

  static size_t index(int32_t value) { return static_cast<size_t>(value); }
  [[nodiscard]] const std::vector<Interval>& live(int32_t box) const { return boxes_[index(box)].live; }
  [[nodiscard]] int32_t first(int32_t box) const { return live(box).front().begin; }
  [[nodiscard]] int32_t last(int32_t box) const { return live(box).back().end; }
  [[nodiscard]] Bytes size(int32_t box) const { return boxes_[index(box)].size; }
  [[nodiscard]] Bytes bytes(int32_t box) const { return boxes_[index(box)].bytes; }
  [[nodiscard]] const std::optional<Bytes>& fixed(int32_t box) const { return boxes_[index(box)].fixed; }
  // The topmost box of a section may stick out by what rounding added to it.
  [[nodiscard]] Bytes rounded_capacity() const { return capacity_ + slack_; }

  const std::vector<Box>& boxes_;
  const std::vector<int32_t>& rank_;
  SearchLimit& limit_;
  const Bytes capacity_;
  Bytes slack_ = 0;                                  // the most that rounding added to any box
  std::vector<int64_t> left_;                        // by section: bytes still to come
  std::vector<int64_t> crossing_;                    // by section: open boxes that live in it and in the one before
  std::vector<int64_t> offset_, placed_;             // by box: the skyline below it; is it placed
  std::vector<Bytes> at_;                            // by box, where placed
  std::vector<std::vector<int32_t>> alive_;          // by section
  std::vector<int32_t> twin_before_;                 // by box
  std::vector<std::pair<int64_t*, int64_t>> trail_;  // what to restore
  std::vector<int64_t> stamp_;
  int64_t clock_ = 0;
  std::vector<int32_t> touched_, lifted_;
};

}  // namespace

bool searchable(const Boxes& boxes) {
  int64_t incidences = 0;
  for (const Box& box : boxes.boxes)
    for (const Interval& interval : box.live) incidences += interval.end - interval.begin;
  return boxes.boxes.size() <= kMostSearchedBoxes && incidences <= kMostSearchedIncidences;
}

Outcome search_canonical(const Boxes& boxes, Bytes capacity, const std::vector<int32_t>& rank, SearchLimit& limit,
                         std::vector<Bytes>& at) {
  Search search(boxes, capacity, rank, limit);
  const Outcome outcome = search.run();
  if (outcome == Outcome::kFound) at = search.offsets();
  return outcome;
}

}  // namespace pantoum::place
