// Random training steps for property tests, of the planner's too: every feature of `pantoum.costgraph/1` turns up.
#pragma once

#include <cstdint>

#include "problem/cost_graph.h"

namespace pantoum::check {

// The same numbers on every machine (SplitMix64).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits();
  int64_t between(int64_t least, int64_t most);  // both included
  bool chance(double probability);
  double unit();  // [0, 1)
  size_t index(size_t count) { return static_cast<size_t>(between(0, static_cast<int64_t>(count) - 1)); }

 private:
  uint64_t state_;
};

struct RandomGraphOptions {
  int least_ops = 1, most_ops = 12;  // forward ops; masks and updates come on top
  int most_sources = 5;              // tensors that are there from the start
  bool pager = true;                 // false: a device without auxiliary storage
  bool empty_tensors = true;         // tensors of 0 bytes
  bool odd_sizes = true;             // sizes that are no multiples of the alignment
  bool several_numerics = true;      // ops with a choice of another class than the others
  bool engines = false;              // two to four engines, choices on one of them or on several
  bool streams = false;              // choices that stream some of what they read and write
};

// A graph that `problem::validate` accepts and that some plan solves when RAM is plenty. The same seed and options, the
// same graph.
[[nodiscard]] problem::CostGraph random_cost_graph(uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace pantoum::check
