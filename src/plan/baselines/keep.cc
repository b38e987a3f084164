#include "plan/baselines/keep.h"

namespace pantoum::plan::baseline {

Result<Plan> plan_policy(const Question& question, const Policy& policy) {
  const PlanOptions& options = question.options;
  Simulator simulator(question.model, {.ram = options.ram, .objective = options.objective});
  if (!simulator.reset(policy).sound) return no_schedule(question, "what it gives up cannot be had again");
  return answer(question, simulator.events());
}

Result<Plan> keep_everything(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Question question, ask(graph, options, "keep"));
  return plan_policy(question, keep_all(question.model, question.choices));
}

}  // namespace pantoum::plan::baseline
