#include "plan/baselines/poet.h"

#include "plan/baselines/checkmate_milp.h"
#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {
namespace {

constexpr const char* kPoetAsPublished =
    "as published, its memory row does not count workspaces, and counts sources throughout; its deadline row does not "
    "count transfers";

}  // namespace

Result<Plan> poet(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask_small(graph, options, "poet"));
  CheckmateMilp milp(task, options.question.budget_bytes(), may_page(task));
  const Joules unit = cost_unit(task, [](const ChoiceModel& kernel) { return kernel.joules; });
  milp.set_costs([&](const ChoiceModel& kernel) { return kernel.joules / unit; },
                 [&](const TensorModel& tensor) { return tensor.in_j / unit; },
                 [&](const TensorModel& tensor) { return tensor.out_j / unit; });
  if (options.question.deadline) milp.limit_compute_seconds(*options.question.deadline);
  return plan_of(task, milp, solve_or_round(task, milp), kPoetAsPublished);
}

}  // namespace pantoum::plan::baseline
