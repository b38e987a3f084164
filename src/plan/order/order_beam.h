// Dynamic programming over the sets of ops that have run: of all orders of a set only the one with the least peak so
// far goes on. Where there are too many sets of one size, the `width` best of them do: a beam.
//
// Dominance: ops that may run now, that take no more live bytes on the way than the peak so far and leave no more than
// before, run at once. No order is lost: to run them later frees the same bytes later. So what hangs loosely (updates
// and the gradients that only they read) does not multiply the sets, and at an articulation point all orders meet in
// one set.
#pragma once

#include <vector>

#include "plan/order/order_problem.h"
#include "plan/order/order_steps.h"

namespace pantoum::plan {

struct BeamResult {
  std::vector<OpIndex> order;  // of a peak below `below`; empty: none was found
  Bytes peak = 0;
  bool exact = false;  // no set was left out: no order has a smaller peak, or, without one, none is below
};

// Peaks up to `floor` are as good as `floor`. Deterministic.
[[nodiscard]] BeamResult beam_search(const OrderProblem& problem, Bytes floor, Bytes below, size_t width,
                                     OrderSteps& steps);

}  // namespace pantoum::plan
