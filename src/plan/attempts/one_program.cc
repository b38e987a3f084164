#include <cmath>

#include "check/replay.h"
#include "plan/attempts/attempts.h"
#include "plan/attempts/slopes.h"

namespace pantoum::plan {
namespace {

// A plan of another graph, of the same structure and other sizes, is a start where it is a plan of this one too.
bool is_start(const Plan& given, const CostGraph& graph, const Question& question) {
  if (structure_hash(given.graph) != structure_hash(graph)) return false;
  Plan start = given;
  start.predicted = {.peak_bytes = -1, .arena_bytes = -1, .time_s = std::nan(""), .energy_j = std::nan("")};
  start.bound = {};
  return check::replay(graph, start, question).has_value();
}

}  // namespace

Result<Asked> asked_of(PlanOptions options, const std::string& planner, const std::string& formula) {
  PANTOUM_ASSIGN(const std::vector<NamedPlanner> named, planners_named({planner}));
  Asked asked{.options = std::move(options), .planner = named.front()};
  if (!formula.empty()) {
    PANTOUM_ASSIGN(asked.formula, ObjectiveExpression::parse(formula, "--objective"));
  }
  return asked;
}

double Asked::value_of(const Plan& plan) const {
  return formula ? formula->at(plan.predicted).value : problem::value_of(plan);
}

bool Asked::by_time() const {
  return !formula && options.question.objective == Objective::kTime && !options.question.energy_limit;
}

Result<Plan> make_plan(const Asked& asked, const CostGraph& graph, const PlanOptions& given, Infeasible* infeasible) {
  PlanOptions options = given;
  if (options.warm_start != nullptr && !is_start(*options.warm_start, graph, options.question))
    options.warm_start = nullptr;
  if (!asked.formula) return asked.planner.plan(graph, options, infeasible);
  return plan_by_slopes(*asked.formula, graph, options, infeasible, asked.planner.plan);
}

std::string warning_of_start(const PlanOptions& options, const std::vector<const CostGraph*>& graphs) {
  if (options.warm_start == nullptr) return {};
  const uint64_t start = structure_hash(options.warm_start->graph);
  for (const CostGraph* graph : graphs)
    if (structure_hash(*graph) == start) return {};
  return "the plan of --warm-start is of another step, so planning begins without it: model, loss, optimizer, frozen "
         "parameters, device, threads and the switches of graphs and algorithms have to be the same";
}

}  // namespace pantoum::plan
