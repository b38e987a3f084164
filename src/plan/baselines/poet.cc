#include "plan/baselines/poet.h"

#include "plan/baselines/checkmate_milp.h"

namespace pantoum::plan::baseline {
namespace {

constexpr const char* kPublished =
    "as published, its memory row does not count workspaces, and counts sources throughout; its deadline row does not "
    "count transfers";

}  // namespace

Result<Plan> poet(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Question question, ask(graph, options, "poet"));
  PANTOUM_TRY(check_size(question));
  const bool paging = question.model.paging && options.question.freedoms.paging;
  StageProgram program(question, options.question.budget_bytes(), paging);
  Joules whole = 0;
  for (size_t op = 0; op < question.model.ops.size(); ++op) whole += question.kernel(static_cast<int32_t>(op)).joules;
  const Joules unit = whole > 0 ? whole : 1;
  program.set_costs([&](const ChoiceModel& kernel) { return kernel.joules / unit; },
                    [&](const TensorModel& tensor) { return tensor.in_j / unit; },
                    [&](const TensorModel& tensor) { return tensor.out_j / unit; });
  if (options.question.deadline) program.limit_compute_seconds(*options.question.deadline);
  return plan_of(question, program, solve_or_round(question, program, paging), kPublished);
}

}  // namespace pantoum::plan::baseline
