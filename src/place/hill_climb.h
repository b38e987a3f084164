// Small changes of a greedy order, kept when the arena does not grow.
#pragma once

#include "place/canonical_search.h"
#include "place/greedy.h"

namespace pantoum::place {

// From `order` and its offsets: moves boxes that stick out above `goal`, or their neighbours, forward in the order, and
// places again (first fit). Stops at the goal or the limit (a placement counts as many nodes as it has boxes).
// Deterministic.
void hill_climb(const Boxes& boxes, std::vector<int32_t>& order, uint64_t seed, Bytes goal, SearchLimit& limit,
                Offsets& best);

}  // namespace pantoum::place
