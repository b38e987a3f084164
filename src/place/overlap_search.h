// Guided local search over overlaps: every box has an offset within the budget from the start, and what overlaps is moved
// until nothing does. Finds offsets in arenas that are a few percent above the live bytes where boxes are many and small
// beside the arena, which orders of first-fit and the canonical search do not; proves nothing.
//
// A box is moved to the offset at which the weighted bytes that it shares with others are least; where no move helps, the
// pairs that still overlap weigh more from then on. After Faroe, Pisinger, Zachariasen, "Guided Local Search for the
// Three-Dimensional Bin-Packing Problem" (INFORMS Journal on Computing 2003), with time as the axis that is given.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/random.h"
#include "place/boxes.h"
#include "place/canonical_search.h"

namespace pantoum::place {

inline constexpr int64_t kMostPairs = 20'000'000;  // of boxes that live at the same time

// Are there few enough pairs, and sizes that can be counted in an int32? Cost: linear.
bool has_few_pairs(const Boxes& boxes);

class OverlapSearch {
 public:
  // Boxes with few pairs, which must outlive the search. `start`: an offset for every box, where it begins.
  OverlapSearch(const Boxes& boxes, Bytes budget, const std::vector<Bytes>& start);

  // kFound: at() has no overlap, and at + bytes <= budget for all boxes; kNone: what is fixed, or one box alone, does not
  // fit. A node is a box that is looked at, or a part of those that live beside it. May be run again while it says kLimit.
  Outcome run(SearchLimit& limit);

  // By box.
  std::vector<Bytes> at() const;

  struct Overlap {
    int32_t one = 0, other = 0;  // boxes
    Bytes bytes = 0;
  };
  // Of the offsets seen so far with the fewest bytes of overlap, looked at whenever no move helped; after kLimit.
  const std::vector<Overlap>& least_overlaps() const { return least_; }

 private:
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

  void find_pairs();
  void wake(int32_t box);
  void move(int32_t box);
  Units shared(int32_t box, const Pair& pair) const;
  double weighted(int32_t box) const;
  void find_kinks(int32_t box);
  void sort_kinks();
  Least least_overlap(int32_t box);
  bool punish();

  static size_t index(int32_t value) { return static_cast<size_t>(value); }

  const Boxes& boxes_;
  Bytes unit_ = 1;
  bool possible_ = true;
  std::vector<std::vector<Pair>> pairs_;
  std::vector<Units> at_, size_, highest_;  // by box; `highest_`: the highest offset that it may have
  std::vector<char> awake_;
  std::vector<int32_t> queue_;  // boxes that are awake
  std::vector<Kink> kinks_, sorted_;
  double first_ = 0, slope_ = 0;  // of the weighted overlap at offset 0
  std::vector<Overlap> least_, now_;
  Bytes least_bytes_ = std::numeric_limits<Bytes>::max();
  base::Random random_{1};
};

}  // namespace pantoum::place
