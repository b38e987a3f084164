#include "plan/baselines/checkmate.h"

#include "plan/baselines/checkmate_milp.h"

namespace pantoum::plan::baseline {
namespace {

constexpr const char* kPublished =
    "as published, its memory row does not count workspaces, and counts sources throughout";

// Recomputation alone; costs relative to the whole step's.
StageProgram remat_program(const Question& question, double share) {
  StageProgram program(
      question, static_cast<Bytes>(share * static_cast<double>(question.options.question.budget_bytes())), false);
  double whole = 0;
  for (size_t op = 0; op < question.model.ops.size(); ++op)
    whole += question.price(question.kernel(static_cast<int32_t>(op)));
  const double unit = whole > 0 ? whole : 1;
  program.set_costs([&](const ChoiceModel& kernel) { return question.price(kernel) / unit; },
                    [](const TensorModel&) { return 0; }, [](const TensorModel&) { return 0; });
  return program;
}

}  // namespace

Result<Plan> checkmate(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Question question, ask(graph, options, "checkmate"));
  PANTOUM_TRY(check_size(question));
  const StageProgram program = remat_program(question, 1);
  return plan_of(question, program, solve_or_round(question, program, false), kPublished);
}

Result<Plan> checkmate_lp(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Question question, ask(graph, options, "checkmate-lp"));
  PANTOUM_TRY(check_size(question));
  Result<Plan> plan = no_schedule(question, "its linear program was not solved within the time limit");
  for (const double share : {1.0, 0.9, 0.8, 0.7, 0.6}) {
    if (plan || question.out_of_time()) break;
    const StageProgram program = remat_program(question, share);
    const Solution solution = relax(program.program, question.left());
    if (solution.verdict == Solution::Verdict::kInfeasible && share == 1.0)
      plan = no_schedule(question, "its linear program is infeasible");
    if (solution.values.empty()) break;
    Result<std::vector<Event>> events =
        complete(question.model, question.choices, in_stages(program.stages(program.rounded(solution.values, 0.5))));
    plan = events ? answer(question, *events, kPublished) : tl::make_unexpected(std::move(events).error());
  }
  return plan;
}

}  // namespace pantoum::plan::baseline
