#include "plan/baselines/checkmate.h"

#include "plan/baselines/checkmate_milp.h"
#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {
namespace {

constexpr const char* kPublished =
    "as published, its memory row does not count workspaces, and counts sources throughout";

// Recomputation alone; costs relative to the whole step's.
CheckmateMilp recompute_milp(const Task& task, double share) {
  CheckmateMilp milp(task, static_cast<Bytes>(share * static_cast<double>(task.options.question.budget_bytes())),
                     false);
  const double unit = cost_unit(task, [&](const ChoiceModel& kernel) { return task.price(kernel); });
  milp.set_costs([&](const ChoiceModel& kernel) { return task.price(kernel) / unit; },
                 [](const TensorModel&) { return 0; }, [](const TensorModel&) { return 0; });
  return milp;
}

}  // namespace

Result<Plan> checkmate(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask_small(graph, options, "checkmate"));
  const CheckmateMilp milp = recompute_milp(task, 1);
  return plan_of(task, milp, solve_or_round(task, milp), kPublished);
}

Result<Plan> checkmate_lp(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask_small(graph, options, "checkmate-lp"));
  Result<Plan> plan = no_schedule(task, "its linear program was not solved within the time limit");
  for (const double share : {1.0, 0.9, 0.8, 0.7, 0.6}) {
    if (plan || task.out_of_time()) break;
    const CheckmateMilp milp = recompute_milp(task, share);
    const Solution solution = relax(milp.program, task.left());
    if (solution.verdict == Solution::Verdict::kInfeasible && share == 1.0)
      plan = no_schedule(task, "its linear program is infeasible");
    if (solution.values.empty()) break;
    plan = plan_schedule(task, in_stages(milp.stages(milp.rounded(solution.values, 0.5))), kPublished);
  }
  return plan;
}

}  // namespace pantoum::plan::baseline
