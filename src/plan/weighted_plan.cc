#include "plan/weighted_plan.h"

#include <optional>
#include <utility>

#include "plan/realize/predict.h"
#include "problem/weighted_graph.h"

namespace pantoum::plan {
namespace {

// The plan of the weighted graph, as one of the graph itself: the same instructions, their energy in joules.
void unweighted(Plan& plan, const CostGraph& graph, const Question& asked) {
  plan.graph = graph;
  plan.question.objective = asked.objective;
  plan.question.weights = asked.weights;
  plan.bound.weighted = std::exchange(plan.bound.energy_j, std::nullopt);
  if (const std::optional<problem::Predicted> predicted = predict(graph, plan)) plan.predicted = *predicted;
}

void unweighted(Infeasible& known, const CostGraph& graph, const Question& asked) {
  if (known.min_plan) unweighted(*known.min_plan, graph, asked);
  if (!known.refusal) return;
  known.refusal->plan.reset();  // it is told of the weighted graph
  known.refusal->graph = graph;
  known.refusal->question.objective = asked.objective;
  known.refusal->question.weights = asked.weights;
}

}  // namespace

Result<Plan> weighted_or_plain(const CostGraph& graph, const PlanOptions& asked_options, Infeasible* infeasible,
                               const PlanMaker& make) {
  if (asked_options.question.objective != Objective::kWeighted) return make(graph, asked_options, infeasible);
  PlanOptions options = asked_options;
  const Question asked = options.question;
  if (asked.energy_limit)
    return fail("E0117", "a limit on the energy beside a weighted objective", "--at-most",
                "minimise the time with --at-most energy, or leave the limit out");
  options.question.objective = Objective::kEnergy;
  options.question.weights = {};
  const CostGraph weighted = problem::weighted_graph(graph, asked.weights);
  if (const Result<void> valid = problem::validate(weighted); !valid)
    return fail("E0117", "by the objective's weights " + valid.error().message, "--objective",
                "give smaller weights, whose ratio says as much", {"at " + valid.error().where});
  Infeasible known;
  Result<Plan> plan = make(weighted, options, &known);
  if (plan) {
    unweighted(*plan, graph, asked);
  } else if (infeasible != nullptr) {
    unweighted(known, graph, asked);
    *infeasible = std::move(known);
  }
  return plan;
}

}  // namespace pantoum::plan
