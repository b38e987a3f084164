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

#include "plan/simulate/model.h"

namespace pantoum::plan::baseline {

struct Task;

// The ops ahead of stage `boundary` that every path of the forward graph crosses, ascending.
std::vector<OpIndex> articulation_points(const Task& task, Stage boundary);

}  // namespace pantoum::plan::baseline
