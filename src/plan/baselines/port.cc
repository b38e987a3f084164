#include "plan/baselines/port.h"

#include <algorithm>

#include "plan/baselines/checkmate_milp.h"
#include "plan/baselines/task.h"

namespace pantoum::plan::baseline {
namespace {

constexpr const char* kPortAsPublished =
    "as published, its memory row does not count workspaces, and a stage can move only what its computes cover";

}  // namespace

Result<Plan> port(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Task task, ask_small(graph, options, "port"));
  CheckmateMilp milp(task, options.question.budget_bytes(), may_page(task));
  const problem::Pager& pager = graph.device.pager;
  if (milp.paging()) milp.limit_transfers(std::min(pager.in.bytes_per_s, pager.out.bytes_per_s));
  const Seconds unit = cost_unit(task, [](const ChoiceModel& kernel) { return kernel.seconds; });
  const auto nothing = [](const TensorModel&) { return 0.0; };
  milp.set_costs([&](const ChoiceModel& kernel) { return kernel.seconds / unit; }, nothing, nothing);
  const Solution alpha = solve_or_round(task, milp);
  if (alpha.verdict != Solution::Verdict::kOptimal || !milp.paging() || task.out_of_time())
    return plan_of(task, milp, alpha, kPortAsPublished);
  milp.limit_cost(milp.program.value(alpha.values) + 1e-7);
  const auto one = [](const TensorModel&) { return 1.0; };
  milp.set_costs([](const ChoiceModel&) { return 0.0; }, one, one);
  const Solution beta = solve(milp.program, task.left(), &alpha.values);
  return plan_of(task, milp, beta.values.empty() ? alpha : beta, kPortAsPublished);
}

}  // namespace pantoum::plan::baseline
