// Allocations with one offset in common become one box: what the placers see.
//
//   address |      +-----+  box B: two allocations of one group,
//           |  +---+  B  +---+---+     one offset
//           |  | A |-----|   | B |
//           +--+---+-----+---+---+--> time (compressed to 0..moments-1)
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/index.h"
#include "place/place.h"

namespace pantoum::place {

using base::position_of;
// A list by the number of a box, or of a moment.
template <class T>
using ByNumber = base::Indexed<int32_t, T>;

struct Interval {
  int32_t begin = 0, end = 0;  // half open, in compressed time
};

struct Box {
  std::vector<Interval> live;  // disjoint, ascending
  int64_t duration = 0;        // of all of them, in the allocations' own time
  Bytes size = 0;              // rounded up to the alignment, so that the next box may start at its end
  Bytes bytes = 0;             // not rounded: what the arena must hold when the box is the topmost
  std::optional<Bytes> fixed;
};

// Do both live at some moment?
inline bool meet(const Box& a, const Box& b) {
  for (const Interval& one : a.live)
    for (const Interval& other : b.live)
      if (one.begin < other.end && other.begin < one.end) return true;
  return false;
}

struct Boxes {
  std::vector<Box> boxes;        // none of size 0, none without a moment
  std::vector<int32_t> box_of;   // by allocation; -1: size 0 or never alive, and in no group that has a box
  std::vector<Bytes> offset_of;  // by allocation, where box_of is -1
  int32_t moments = 0;
};

// E0311: a negative size or offset, an offset that is not aligned, two fixed offsets in a group, fixed boxes that
// collide.
Result<Boxes> make_boxes(const std::vector<Allocation>& allocations, Bytes align);

// Returns for each moment the sum of the rounded sizes of the boxes alive then.
std::vector<Bytes> live_bytes_by_moment(const Boxes& boxes);

// The largest over the moments of: all sizes rounded but the one for which rounding adds most. No arena is smaller.
Bytes least_arena(const Boxes& boxes);

}  // namespace pantoum::place
