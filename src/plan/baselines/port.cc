#include "plan/baselines/port.h"

#include <algorithm>

#include "plan/baselines/checkmate_milp.h"

namespace pantoum::plan::baseline {
namespace {

constexpr const char* kPublished =
    "as published, its memory row does not count workspaces, and a stage can move only what its computes cover";

double value_of(const Program& program, const std::vector<double>& values) {
  double value = 0;
  for (size_t column = 0; column < values.size(); ++column) value += program.cost[column] * values[column];
  return value;
}

}  // namespace

Result<Plan> port(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Question question, ask(graph, options, "port"));
  PANTOUM_TRY(check_size(question));
  const bool paging = question.model.paging && options.question.freedoms.paging;
  StageProgram program(question, options.question.budget_bytes(), paging);
  const problem::Pager& pager = graph.device.pager;
  if (paging) program.limit_transfers(std::min(pager.in.bytes_per_s, pager.out.bytes_per_s));
  Seconds whole = 0;
  for (size_t op = 0; op < question.model.ops.size(); ++op) whole += question.kernel(static_cast<int32_t>(op)).seconds;
  const Seconds unit = whole > 0 ? whole : 1;
  const auto nothing = [](const TensorModel&) { return 0.0; };
  program.set_costs([&](const ChoiceModel& kernel) { return kernel.seconds / unit; }, nothing, nothing);
  const Solution alpha = solve_or_round(question, program, paging);
  if (alpha.verdict != Solution::Verdict::kOptimal || !paging || question.out_of_time())
    return plan_of(question, program, alpha, kPublished);
  program.limit_cost(value_of(program.program, alpha.values) + 1e-7);
  const auto one = [](const TensorModel&) { return 1.0; };
  program.set_costs([](const ChoiceModel&) { return 0.0; }, one, one);
  const Solution beta = solve(program.program, question.left(), &alpha.values);
  return plan_of(question, program, beta.values.empty() ? alpha : beta, kPublished);
}

}  // namespace pantoum::plan::baseline
