#include "plan/baselines/keep.h"

namespace pantoum::plan::baseline {

Result<Plan> keep_everything(const CostGraph& graph, const PlanOptions& options) {
  PANTOUM_ASSIGN(const Question question, ask(graph, options, "keep"));
  return plan_policy(question, keep_all(question.model, question.choices));
}

}  // namespace pantoum::plan::baseline
