// Depth-first search over canonical solutions: complete, and fast where the arena is nearly full.
//
// A solution is canonical when every box rests on another one (or on the ground, or is fixed). Boxes are placed in the
// order of their offsets, so each goes onto the skyline of those before it, at or above the last one: the level.
//
// After Moffitt, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine Learning" (ASPLOS 2023),
// with one more inference: a box that the level has passed lies upon one of its open neighbours (Skyline::raise_sunk).
#pragma once

#include <cstdint>
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

bool searchable(const Boxes& boxes);

// What a visit counts as: it goes through all boxes that are open, and through the sections that they live in.
int64_t nodes_of_visit(size_t boxes, int32_t sections);
// What it takes to place each box once: half of the boxes are open in the middle.
int64_t nodes_of_descent(const Boxes& boxes);

// Offsets with at + bytes <= budget for all boxes. What no box connects in time is solved apart, and stays solved.
class CanonicalSearch {
 public:
  // Searchable boxes, which must outlive the search.
  CanonicalSearch(const Boxes& boxes, Bytes budget);

  // Goes on with all that is not solved yet, within the limit; `rank` breaks ties between boxes that may go next (lower
  // first). May be run again while it says kLimit. Recurses once per box.
  Outcome run(const std::vector<int32_t>& rank, SearchLimit& limit);

  // By box, once found.
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

  bool settle_ground();
  void find_twins();
  Outcome run_part(const Part& part, int64_t nodes, SearchLimit& limit);
  Outcome each_part(const Part& part, Level level);
  std::vector<Part> split(const Part& part);
  Outcome descend(const Part& part, Level level);
  void list_open(const Part& part, Level level);
  void list_candidates(size_t from, size_t to, Level level);
  Outcome try_each(const Part& open, Level level);
  Outcome try_next(const Part& open, Candidate next, Bytes least_headroom);
  bool limit_reached(const Part& open);

  static size_t index(int32_t value) { return static_cast<size_t>(value); }
  const Box& box(int32_t number) const { return boxes_.boxes[index(number)]; }
  bool below(int32_t box, Level level) const;
  bool splits(int32_t box) const;

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

}  // namespace pantoum::place
