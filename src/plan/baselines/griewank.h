// Revolve (Griewank, Walther, Algorithm 799, ACM TOMS 26(1), 2000): optimal checkpointing of a chain in c slots.
//
// t(l, c): forward evaluations, taping apart, that reverse l steps with c slots beside the start:
//
//   t(1, c) = 0      t(l, 0) = l (l - 1) / 2      t(l, c) = min over 0 < j < l of  j + t(l - j, c - 1) + t(j, c)
//
// The chain is the graph's (task.h; E0304 where it is none). As published, steps cost one and states are one size; how
// many slots the budget is worth is found by exact replay: the largest c whose schedule fits. It never pages.
#pragma once

#include <cstdint>

#include "base/index.h"

namespace pantoum::plan::baseline {

// t(l, c) and the first j that attains it, for all lengths up to `length` and slots up to `slots`.
class Revolve {
 public:
  Revolve(int32_t length, int32_t slots);
  int64_t evaluations(int32_t length, int32_t slots) const { return cost_[at(length, slots)]; }
  int32_t split(int32_t length, int32_t slots) const { return split_[at(length, slots)]; }

 private:
  int32_t at(int32_t length, int32_t slots) const { return slots * (length_ + 1) + length; }
  int32_t length_;
  base::Indexed<int32_t, int64_t> cost_;
  base::Indexed<int32_t, int32_t> split_;
};

}  // namespace pantoum::plan::baseline
