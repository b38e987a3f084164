// A partial solution of the canonical search: what is placed, and how low each open box can still go.
//
//   address |        +--+
//           |   +----+b2|      Each section (moment of compressed time) has a headroom: what the budget leaves
//           +---+ b1 +--+      above all that must still go there. An open box that may start at or below the
//           |b0 +----+--+      headroom proves nothing; a section that has no such box is a dead end.
//           +---+-------+--> time
#pragma once

#include <cstdint>
#include <vector>

#include "place/boxes.h"

namespace pantoum::place {

class Skyline {
 public:
  Skyline(const Boxes& boxes, Bytes budget);

  // False when some section cannot take any more what must still go there; the box is placed all the same.
  bool place(int32_t box, Bytes at) { return settle(box, at) && has_headroom(touched_); }
  // Looks at its neighbours alone: place() without has_headroom().
  bool settle(int32_t box, Bytes at);
  // Has every section of a range an open box that may start within its headroom, or none to come?
  bool has_headroom(Interval range);

  // An open box below the level of the search goes no lower than upon one of its open neighbours. False: a dead end.
  bool raise_sunk(const std::vector<int32_t>& sunk, Bytes level);

  size_t mark() const { return trail_.size(); }
  void undo(size_t mark);

  // The top of what is placed below an open box: where it would lie if it went next.
  Bytes offset(int32_t box) const { return offset_[index(box)]; }
  // At least `offset`: no solution has the open box lower.
  Bytes bound(int32_t box) const { return bound_[index(box)]; }
  bool open(int32_t box) const { return open_[index(box)] != 0; }
  bool crossed(int32_t moment) const { return crossing_[index(moment)] > 0; }
  // The smallest headroom of any section in a range: no box may go higher there until the headroom grows.
  Bytes least_headroom(Interval range) const;
  const std::vector<Bytes>& at() const { return at_; }

 private:
  struct Change {
    int32_t box;  // ~box: it was placed
    Bytes offset, bound;
  };

  void enter(int32_t box);
  void find_alive();
  void join(int32_t a, int32_t b);
  void count(int32_t box, int sign);
  bool lift_neighbours(int32_t box, Bytes top);
  bool raise(int32_t box, Bytes level);
  bool find_witness(int32_t moment, Bytes headroom);
  void touch(int32_t box);
  void record(int32_t box) { trail_.push_back({box, offset_[index(box)], bound_[index(box)]}); }
  template <typename Visit>
  bool each_open_neighbour(int32_t box, const Visit& visit) const;  // until one says false

  static size_t index(int32_t value) { return static_cast<size_t>(value); }
  Bytes headroom(int32_t moment) const { return roof_[index(moment)] - left_[index(moment)]; }

  const std::vector<Box>& boxes_;
  const Bytes budget_;
  const size_t words_;               // of a set of boxes
  std::vector<Bytes> size_, bytes_;  // by box, as is all up to `support_`
  std::vector<Interval> span_;       // from the first moment to behind the last
  std::vector<Bytes> offset_, bound_, at_;
  std::vector<uint8_t> open_;
  std::vector<uint64_t> open_set_;           // once more, as a set
  std::vector<uint64_t> neighbours_;         // sets of boxes that live at the same time
  std::vector<int32_t> support_;             // the neighbour that a sunk box is bounded by; may be out of date
  std::vector<Bytes> roof_;                  // by section: budget, and what rounding added to one of its boxes
  std::vector<Bytes> left_;                  // by section: bytes still to come
  std::vector<int32_t> crossing_;            // by section: open boxes that live before it and in it or behind it
  std::vector<int32_t> witness_;             // by section: an open box within its headroom; may be out of date
  std::vector<int32_t> alive_, alive_from_;  // by section: its boxes, and where they begin
  std::vector<Change> trail_;
  Interval touched_;  // sections to look at again
};

}  // namespace pantoum::place
