// Offsets: allocations in RAM with half-open lifetimes -> places in one arena, none overlapping in time and space.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"

namespace pantoum::place {

using Bytes = int64_t;

// A live range, [begin, end) in any monotone time, of `size` bytes. Allocations of one group share their offset (a
// tensor and the successor that takes over its bytes, the first and last allocation of what must end where it began); a
// group's size is its largest.
struct Allocation {
  int64_t begin = 0, end = 0;
  Bytes size = 0;
  int32_t group = -1;          // -1: on its own
  std::optional<Bytes> fixed;  // its offset is given; one fixed allocation fixes its group
};

struct PlaceOptions {
  Bytes align = 1;
  std::optional<Bytes> budget;  // the arena may not be larger; none: as small as can be found
  double seconds = 1.0;         // for all of it, kept to 50 ms; ignored when `steps` > 0
  int64_t steps = 0;            // > 0: nodes of search instead of a clock (reproducible)
};

// What is known where no offsets were found.
struct Shortfall {
  bool proved = false;           // there are none
  Bytes arena_bytes = 0;         // the smallest arena found; 0 where none was sought
  struct Clash {                 // of two allocations, in the offsets within the budget that came nearest
    int64_t begin = 0, end = 0;  // when both are alive
    Bytes bytes = 0;             // that they share
  };
  std::vector<Clash> clashes;  // none where no such offsets were sought
};

struct Placement {
  std::vector<Bytes> at;  // one per allocation
  Bytes arena_bytes = 0;
};

// The most live bytes at one moment (a group that overlaps itself in time counts once): no arena is smaller.
Bytes peak_live_bytes(const std::vector<Allocation>& allocations, Bytes align);

// Offsets within the budget, or E0310 when none were found (`shortfall` says how near it came), E0311 when fixed
// allocations collide. First best-fit and first-fit over several orders, then the canonical depth-first search of
// MiniMalloc (Moffitt, ASPLOS 2023). Allocations of size 0 are placed at 0. Cost: O(n^2) for the heuristics; where the
// time ends before them, what is left is put on top.
Result<Placement> place(const std::vector<Allocation>& allocations, const PlaceOptions& options,
                        Shortfall* shortfall = nullptr);

// Offsets within the budget, from those given by allocation, where there are any: what overlaps is moved, by guided local
// search; then the canonical search goes through the boxes in the order of these offsets, and in orders near it. `steps`
// and `seconds` as for place(). E0310 when none were found.
Result<Placement> adjust(const std::vector<Allocation>& allocations, const std::vector<std::optional<Bytes>>& near,
                         const PlaceOptions& options);

}  // namespace pantoum::place
