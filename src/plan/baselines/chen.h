// Training Deep Nets with Sublinear Memory Cost (Chen, Xu, Zhang, Guestrin, arXiv:1604.06174, 2016).
//
//   forward    [a b c] d [e f g] h [i j k]      d, h retained; the parts between them dropped after their last
//   backward                                    forward use, and recomputed, each whole, when its first is asked for
//
// On graphs that are no chains, as Checkmate's authors ran it: checkpoints are chosen among the articulation points of
// the forward graph, the ops that every path crosses. Forward is what comes ahead of the forward-backward boundary.
// Backward tensors are retained until their last use. Updates, homes and transfers that the graph demands are the
// simulator's.
#pragma once

#include <vector>

#include "plan/baselines/baseline.h"
#include "plan/simulate/model.h"

namespace pantoum::plan::baseline {

struct Task;

// sqrt(n): every ceil(sqrt(k))-th of the k articulation points is a checkpoint. The budget plays no part: E0302 where
// the one plan does not fit.
[[nodiscard]] Result<Plan> chen_sqrt(const CostGraph& graph, const PlanOptions& options);

// Algorithm 3: a checkpoint wherever more than b bytes have come since the last. b is searched on a grid; of the plans
// that fit the cheapest is taken.
[[nodiscard]] Result<Plan> chen_greedy(const CostGraph& graph, const PlanOptions& options);

// The ops ahead of stage `boundary` that every path of the forward graph crosses, ascending.
[[nodiscard]] std::vector<OpIndex> articulation_points(const Task& task, Stage boundary);

}  // namespace pantoum::plan::baseline
