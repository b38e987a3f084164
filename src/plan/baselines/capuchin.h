// Capuchin (Peng, Shi, Dai, Jin, Ma, Xiong, Yang, Qian, ASPLOS 2020): swap what is free, then what costs least.
//
// A candidate is a tensor between two accesses (an interval of the model) that spans a moment over the budget.
//   free time FT = time between the accesses - seconds to write it - seconds to read it
// 1. Intervals are swapped in falling order of FT as long as FT >= 0: their transfers hide behind compute.
// 2. Then, one by one, the interval with the most bytes saved per second of overhead (the paper's MSPS): swapping costs
//    -FT, recomputing the seconds of the tensor and of its dropped ancestors; the cheaper of the two is done.
// Until the step fits. Times come from the cost graph in the place of the measured first iteration; in-triggers are
// moved ahead where that shortens the step and RAM allows it, in the place of the feedback. Energy plays no part.
#pragma once

#include "plan/baselines/baseline.h"

namespace pantoum::plan::baseline {

[[nodiscard]] Result<Plan> capuchin(const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan::baseline
