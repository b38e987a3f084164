// The methods of the literature, one for each entry of baselines(). What a method does and how it is mapped to a cost graph
// stands at the head of its file. E0300 a budget of nothing; E0301, E0302, E0304 as Baseline::plan has them.
#pragma once

#include "plan/baselines/baseline.h"

namespace pantoum::plan::baseline {

Result<Plan> keep_everything(const CostGraph& graph, const PlanOptions& options);
Result<Plan> griewank(const CostGraph& graph, const PlanOptions& options);
Result<Plan> chen_sqrt(const CostGraph& graph, const PlanOptions& options);
Result<Plan> chen_greedy(const CostGraph& graph, const PlanOptions& options);
Result<Plan> capuchin(const CostGraph& graph, const PlanOptions& options);
Result<Plan> checkmate(const CostGraph& graph, const PlanOptions& options);
Result<Plan> checkmate_lp(const CostGraph& graph, const PlanOptions& options);
Result<Plan> dtr(const CostGraph& graph, const PlanOptions& options);
Result<Plan> pofo(const CostGraph& graph, const PlanOptions& options);
Result<Plan> poet(const CostGraph& graph, const PlanOptions& options);
Result<Plan> port(const CostGraph& graph, const PlanOptions& options);

}  // namespace pantoum::plan::baseline
