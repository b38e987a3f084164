// Depth-first search over canonical solutions: complete, and fast where the arena is nearly full.
//
//   address |        +--+
//           |   +----+b2|        A solution is canonical when every box rests on another one (or on the ground, or is
//           fixed).
//           +---+ b1 +--+        Boxes are placed in the order of their offsets, so each goes onto the skyline of those
//           before it. |b0 +----+--+        A section is a moment of compressed time: its floor, and what must still go
//           on top of it.
//           +---+-------+--> time
//
// After Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning" (ASPLOS 2023).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "place/boxes.h"

namespace pantoum::place {

struct SearchLimit {
  int64_t nodes = 0;                                              // that may still be visited; counted down
  std::optional<std::chrono::steady_clock::time_point> deadline;  // asked for every 256 nodes
};

enum class Outcome { kFound, kNone, kLimit };  // kNone: proved that no solution exists

// Finds offsets with at + bytes <= capacity for all boxes; `rank` breaks ties between boxes that may go next (lower
// first). Recurses once per box: at most kMostSearchedBoxes.
[[nodiscard]] Outcome search_canonical(const Boxes& boxes, Bytes capacity, const std::vector<int32_t>& rank,
                                       SearchLimit& limit, std::vector<Bytes>& at);

inline constexpr size_t kMostSearchedBoxes = 5000;
inline constexpr int64_t kMostSearchedIncidences = 20'000'000;  // boxes * moments that they live

[[nodiscard]] bool searchable(const Boxes& boxes);

}  // namespace pantoum::place
