// A partial solution of the canonical search: what is placed, and how low each open box can still go.
//
//   address |        +--+
//           |   +----+b2|      Each section (moment of compressed time) has a headroom: what the budget leaves
//           +---+ b1 +--+      above all that must still go there. An open box that may start at or below the
//           |b0 +----+--+      headroom proves nothing; a section that has no such box is a dead end.
//           +---+-------+--> time
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "place/boxes.h"

namespace pantoum::place {

class Skyline {
 public:
  Skyline(const Boxes& boxes, Bytes budget)
      : boxes_(boxes.boxes), budget_(budget), words_((boxes.boxes.size() + 63) / 64) {
    const auto moments = position_of(boxes.moments);
    roof_.assign(moments, budget);
    left_.assign(moments, 0);
    crossing_.assign(moments + 1, 0);
    witness_.assign(moments, 0);
    open_set_.assign(words_, 0);
    for (size_t box = 0; box < boxes_.size(); ++box) enter(static_cast<int32_t>(box));
    at_.assign(boxes_.size(), 0);
    support_.assign(boxes_.size(), -1);
    find_alive();
    for (const int32_t moment : left_.indices())
      if (left_[moment] > 0) witness_[moment] = alive_[position_of(alive_from_[moment])];
  }

  // False when some section cannot take any more what must still go there; the box is placed all the same.
  bool place(int32_t box, Bytes at) { return settle(box, at) && has_headroom(touched_); }
  // Looks at its neighbours alone: place() without has_headroom().
  bool settle(int32_t box, Bytes at) {
    trail_.push_back({~box, 0, 0});
    at_[position_of(box)] = at;
    open_[box] = 0;
    open_set_[position_of(box) / 64] &= ~(uint64_t{1} << (box % 64));
    count(box, -1);
    touched_ = span_[box];
    return lift_neighbours(box, at + size_[box]);
  }

  // Has every section of a range an open box that may start within its headroom, or none to come?
  bool has_headroom(Interval range) {
    for (int32_t moment = range.begin; moment < range.end; ++moment) {
      const int32_t witness = witness_[moment];
      if (left_[moment] == 0 || (open(witness) && bound_[witness] <= headroom(moment))) continue;
      if (!find_witness(moment, headroom(moment))) return false;
    }
    return true;
  }

  // An open box below the level of the search goes no lower than upon one of its open neighbours. False: a dead end.
  bool raise_sunk(const std::vector<int32_t>& sunk, Bytes level) {
    touched_ = {std::numeric_limits<int32_t>::max(), 0};
    for (const int32_t box : sunk)
      if (!raise(box, level)) return false;
    return has_headroom(touched_);
  }

  size_t mark() const { return trail_.size(); }
  void undo(size_t mark) {
    for (; trail_.size() > mark; trail_.pop_back()) {
      const Change& change = trail_.back();
      if (change.box >= 0) {
        offset_[change.box] = change.offset;
        bound_[change.box] = change.bound;
        continue;
      }
      const int32_t box = ~change.box;
      open_[box] = 1;
      open_set_[position_of(box) / 64] |= uint64_t{1} << (box % 64);
      count(box, 1);
    }
  }

  // The top of what is placed below an open box: where it would lie if it went next.
  Bytes offset(int32_t box) const { return offset_[box]; }
  // Returns a lower bound of the open box's offset, no less than `offset`: no solution has the box lower.
  Bytes bound(int32_t box) const { return bound_[box]; }
  bool open(int32_t box) const { return open_[box] != 0; }
  bool crossed(int32_t moment) const { return crossing_[moment] > 0; }
  // The smallest headroom of any section in a range: no box may go higher there until the headroom grows.
  Bytes least_headroom(Interval range) const {
    Bytes least = std::numeric_limits<Bytes>::max();
    for (int32_t moment = range.begin; moment < range.end; ++moment) least = std::min(least, headroom(moment));
    return least;
  }

  const std::vector<Bytes>& at() const { return at_; }

 private:
  struct Change {
    int32_t box;  // ~box: it was placed
    Bytes offset, bound;
  };

  void enter(int32_t number) {
    const Box& box = boxes_[position_of(number)];
    size_.push_back(box.size);
    bytes_.push_back(box.bytes);
    span_.push_back({box.live.front().begin, box.live.back().end});
    offset_.push_back(0);
    bound_.push_back(box.fixed.value_or(0));
    open_.push_back(1);
    open_set_[position_of(number) / 64] |= uint64_t{1} << (number % 64);
    for (const Interval& interval : box.live)
      for (int32_t moment = interval.begin; moment < interval.end; ++moment)
        roof_[moment] = std::max(roof_[moment], budget_ + box.size - box.bytes);
    count(number, 1);
  }

  // Goes through time with the list of boxes that live; what begins to live is a neighbour of all in the list.
  void find_alive() {
    ByNumber<std::vector<int32_t>> begins(left_.size() + 1), ends(left_.size() + 1);
    for (size_t box = 0; box < boxes_.size(); ++box)
      for (const Interval& interval : boxes_[box].live) {
        begins[interval.begin].push_back(static_cast<int32_t>(box));
        ends[interval.end].push_back(static_cast<int32_t>(box));
      }
    neighbours_.assign(boxes_.size() * words_, 0);
    alive_from_.push_back(0);
    std::vector<int32_t> live;
    ByNumber<size_t> position(boxes_.size());
    for (const int32_t moment : left_.indices()) {
      for (const int32_t box : ends[moment]) {
        position[live.back()] = position[box];
        live[position[box]] = live.back();
        live.pop_back();
      }
      for (const int32_t box : begins[moment]) {
        for (const int32_t other : live) join(box, other);
        position[box] = live.size();
        live.push_back(box);
      }
      alive_.insert(alive_.end(), live.begin(), live.end());
      alive_from_.push_back(static_cast<int32_t>(alive_.size()));
    }
  }

  void join(int32_t a, int32_t b) {
    neighbours_[position_of(a) * words_ + position_of(b) / 64] |= uint64_t{1} << (b % 64);
    neighbours_[position_of(b) * words_ + position_of(a) / 64] |= uint64_t{1} << (a % 64);
  }

  // Adds an open box to the sections, or takes it away.
  void count(int32_t box, int sign) {
    for (const Interval& interval : boxes_[position_of(box)].live)
      for (int32_t moment = interval.begin; moment < interval.end; ++moment) left_[moment] += sign * size_[box];
    const Interval span = span_[box];
    for (int32_t moment = span.begin + 1; moment < span.end; ++moment) crossing_[moment] += sign;
  }

  bool lift_neighbours(int32_t box, Bytes top) {
    return each_open_neighbour(box, [&](int32_t other) {
      if (offset_[other] >= top) return true;
      record(other);
      offset_[other] = top;
      if (boxes_[position_of(other)].fixed) return top <= bound_[other];
      if (bound_[other] >= top) return true;
      bound_[other] = top;
      touch(other);
      return top + bytes_[other] <= budget_;
    });
  }

  bool raise(int32_t box, Bytes level) {
    if (boxes_[position_of(box)].fixed) return false;
    Bytes& bound = bound_[box];
    int32_t& support = support_[box];
    const auto top = [&](int32_t other) { return std::max(bound_[other], level) + size_[other]; };
    if (support >= 0 && open(support) && top(support) <= bound) return true;
    Bytes lowest = std::numeric_limits<Bytes>::max();
    const bool raised = each_open_neighbour(box, [&](int32_t other) {
      if (top(other) < lowest) {
        lowest = top(other);
        support = other;
      }
      return lowest > bound;
    });
    if (!raised) return true;
    if (lowest > budget_ - bytes_[box]) return false;
    record(box);
    bound = lowest;
    touch(box);
    return true;
  }

  bool find_witness(int32_t moment, Bytes headroom) {
    for (int32_t at = alive_from_[moment]; at < alive_from_[moment + 1]; ++at) {
      const int32_t box = alive_[position_of(at)];
      if (!open(box) || bound_[box] > headroom) continue;
      witness_[moment] = box;
      return true;
    }
    return false;
  }

  void touch(int32_t box) {
    touched_.begin = std::min(touched_.begin, span_[box].begin);
    touched_.end = std::max(touched_.end, span_[box].end);
  }

  void record(int32_t box) { trail_.push_back({box, offset_[box], bound_[box]}); }
  // until one says false
  template <typename Visit>
  bool each_open_neighbour(int32_t box, const Visit& visit) const {
    const uint64_t* const neighbours = &neighbours_[position_of(box) * words_];
    for (size_t word = 0; word < words_; ++word)
      for (uint64_t rest = neighbours[word] & open_set_[word]; rest != 0; rest &= rest - 1)
        if (!visit(static_cast<int32_t>(word * 64) + std::countr_zero(rest))) return false;
    return true;
  }

  Bytes headroom(int32_t moment) const { return roof_[moment] - left_[moment]; }

  const std::vector<Box>& boxes_;
  const Bytes budget_;
  const size_t words_;            // of a set of boxes
  ByNumber<Bytes> size_, bytes_;  // by box, as is all up to `support_`
  ByNumber<Interval> span_;       // from the first moment to behind the last
  ByNumber<Bytes> offset_, bound_;
  std::vector<Bytes> at_;
  ByNumber<uint8_t> open_;
  std::vector<uint64_t> open_set_;    // once more, as a set
  std::vector<uint64_t> neighbours_;  // sets of boxes that live at the same time
  ByNumber<int32_t> support_;         // the neighbour that a sunk box is bounded by; may be out of date
  ByNumber<Bytes> roof_;              // by section: budget, and what rounding added to one of its boxes
  ByNumber<Bytes> left_;              // by section: bytes still to come
  ByNumber<int32_t> crossing_;        // by section: open boxes that live before it and in it or behind it
  ByNumber<int32_t> witness_;         // by section: an open box within its headroom; may be out of date
  std::vector<int32_t> alive_;        // the boxes of each section, one section after the other
  ByNumber<int32_t> alive_from_;      // by section: where its boxes begin
  std::vector<Change> trail_;
  Interval touched_;  // sections to look at again
};

}  // namespace pantoum::place
