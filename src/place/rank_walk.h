// The canonical search under many orders, each for a short time, for smaller and smaller arenas.
//
// How long the search takes has a heavy tail: most orders lead nowhere, a few to offsets within some hundred nodes. So it is
// begun again and again, with an order near the last one that led to offsets. After Gomes, Selman, Kautz, "Boosting
// Combinatorial Search Through Randomization" (AAAI 1998); the walk from order to order is that of a local search.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "place/boxes.h"
#include "place/canonical_search.h"
#include "place/greedy.h"

namespace pantoum::place {

class RankWalk {
 public:
  // Searchable boxes, which must outlive it. It goes for an arena of `goal` bytes.
  // `first`: by box, an order that it begins with; none: those of search_ranks().
  RankWalk(const Boxes& boxes, Bytes goal, std::vector<int32_t> first = {});

  // Begins no search after `nodes`. Every smaller arena that is found replaces `best`. kNone: proved that none has as few
  // bytes as the goal. May be run again while it says kLimit.
  Outcome run(Offsets& best, SearchLimit& limit, int64_t nodes);

 private:
  std::vector<int32_t> near_rank();
  void learn(bool found);
  double normal();

  const Boxes& boxes_;
  const Bytes goal_;
  std::vector<std::vector<int32_t>> ranks_;
  std::vector<int32_t> last_;  // that led to offsets
  double part_ = 0.5;          // of the excess, that the next arena is to be smaller by
  int32_t missed_ = 0;         // searches since
  uint64_t tries_ = 0;
  base::Random random_{1};
};

}  // namespace pantoum::place
