// POFO: Efficient Combination of Rematerialization and Offloading for Training DNNs (Beaumont, Eyraud-Dubois, Shilova,
// NeurIPS 2021). Chains only (chain.h; E0304 where the graph is none).
//
//   state  0 1 2 3 4 5 6 7 8         retained, offloaded or dropped when first computed
//          K . . O . K K . .         K retained in RAM, O written to storage: both end a segment of the chain
//
//   The forward part runs once. Backward, segment by segment from the last: an offloaded state is fetched, and the
//   dropped states of the segment are recomputed from the one that opens it, by the optimal recursion of rotor
//   (Herrmann et al., 2019) in the RAM that the retained states leave:
//
//     recompute(s, e, m) = min over s < j < e of
//                            cost of s+1 .. j  +  recompute(j, e, m - bytes of j)  +  recompute(s, j, m)
//     plan(s, m)         = min over e > s, e retained or offloaded, of
//                            recompute(s, e, m') (+ moving e)  +  plan(e, m - bytes of e where it is retained)
//
// As published: a state is written at most once, ahead of the loss, and read once; a segment is offloaded or
// recomputed, not both by turns. The paper minimises time, with transfers beside compute; here the objective's cost is:
// joules, or seconds where a transfer costs what the segment's own computes do not cover. RAM is cut into 256 parts.
// What a step needs beside the states (gradients, workspaces) is in the recursion as one figure per step; the exact
// replay judges, and the program is solved again with less RAM until its schedule fits.
#pragma once

#include "plan/baselines/baseline.h"

namespace pantoum::plan::baseline {

// E0304: no chain, or more than 128 layers.
[[nodiscard]] Result<Plan> pofo(const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan::baseline
