// Local search over topological orders: an op, with all that hangs on it, is put later or earlier.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/order/order_profile.h"

namespace pantoum::plan {

// What is made small first.
enum class OrderGoal : uint8_t {
  kPeak,       // the peak; at the same peak, the bytes over the threshold, summed over the places
  kFewestOver  // the bytes over the threshold; then the peak
};

// Moves, drawn at random and aimed at the peak:
//   delay    of the places [first, last], the op at `first` and what depends on it there goes behind the rest
//   advance  of the places [first, last], the op at `last` and what it depends on there goes before the rest
// An op, a chain or a whole independent branch, whatever hangs together. Kept where what is made small does not grow, and
// where it stays, nor does the sum of the live bytes.
// Ends when no step is left, or it is as small as it can be: the peak at `floor`, nothing over the threshold.
// Deterministic.
[[nodiscard]] std::vector<OpIndex> improve_order(const OrderProblem& problem, const std::vector<OpIndex>& order,
                                                 OrderGoal goal, Bytes floor, Bytes threshold, OrderSteps& steps);

}  // namespace pantoum::plan
