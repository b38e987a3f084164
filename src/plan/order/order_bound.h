// What no order can do without.
//
// While op u runs, in whatever order and without recomputation and paging, these are live:
//
//   - its operands and its workspace, less what its outputs may take over;
//   - a tensor that an ancestor of u (or the start) has made and a descendant of u reads, or that is kept to the end;
//   - of an op r that is neither before nor behind u: if it comes after u, its inputs that are made before u; if it
//     comes before, its outputs that are read behind u. At least the smaller of the two. An input counts for one r
//     alone. So an update that may come at any time counts with its parameter, old or new.
//
// The most of these over all u, and of what is there when the step starts, is a bound.
#pragma once

#include <stop_token>

#include "plan/order/order_problem.h"

namespace pantoum::plan {

// Cost: ops times (ops + tensors); beyond kMostBoundedOps the working sets alone, once stopped less.
inline constexpr size_t kMostBoundedOps = 8000;
[[nodiscard]] Bytes order_bound(const OrderProblem& problem, const std::stop_token& stop);

}  // namespace pantoum::plan
