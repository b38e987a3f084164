#include "plan/baselines/keep.h"

#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {

Result<Plan> keep_everything(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask(graph, options, "keep"));
  return plan_policy(task, keep_all(task.model, task.choices));
}

}  // namespace pantoum::plan::baseline
