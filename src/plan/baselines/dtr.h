// Dynamic Tensor Rematerialization (Kirisame, Lyubomirsky, Haan, Brennan, He, Roesch, Chen, Tatlock, ICLR 2021).
//
// Runs the step in its order as a cache would. When an output does not fit, the tensor with the least
//
//   h_DTR(t) = (c(t) + sum of c over the evicted neighborhood of t) / (m(t) * s(t))
//
// is evicted: c the seconds to compute it, m its bytes, s the seconds since its last access, the evicted neighborhood
// (exact, the paper's e*) the evicted tensors that are reached through evicted tensors up or down. What is asked for
// and evicted is recomputed, recursively; inputs of a running op are locked. What the program needs no more is
// evicted at once (eager eviction), unless it can never be recomputed. Sources in RAM and what must end there are
// never evicted; sources in storage are fetched, their seconds of transfer in the place of c. The plan frees as
// schedule.h does, never later than DTR, and writes in place, so the cache is given the largest share of a grid around
// the budget whose plan fits.
#pragma once

#include "plan/baselines/baseline.h"

namespace pantoum::plan::baseline {

[[nodiscard]] Result<Plan> dtr(const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan::baseline
