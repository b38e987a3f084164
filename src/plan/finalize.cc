#include "plan/finalize.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "plan/realize/predict.h"
#include "plan/solver.h"
#include "problem/objective_values.h"

namespace pantoum::plan {

using problem::Instruction;
using problem::Status;
namespace {

// Does the plan first compute its ops in the model's order, for which alone the bounds hold?
bool keeps_order(const Plan& plan, const Model& model) {
  std::map<int64_t, int32_t> stages;
  for (const OpModel& op : model.ops) stages.emplace(op.id, op.stage);
  std::set<int64_t> computed;
  int32_t last = 0;
  for (const Instruction& instruction : plan.instructions) {
    if (instruction.what != problem::Do::kCompute || !computed.insert(instruction.subject).second) continue;
    const int32_t stage = stages.at(instruction.subject);
    if (stage < last) return false;
    last = stage;
  }
  return true;
}

}  // namespace

void finalize(Plan& plan, const CostGraph& original, const Solver& solver, const PlanOptions& options) {
  plan.graph = original;
  plan.method = "policies with thresholds: greedy, annealing, exchanges; linear relaxation with cuts, branch and bound";
  const Prover& proved = solver.proved();
  const double value = value_of(plan);
  const bool keeps = keeps_order(plan, solver.instance().model);  // else it is a warm start of another order
  Prover::Proof proof = keeps ? proved.proof(value) : proved.any_order_proof();
  plan.solver_seconds = options.effort > 0 ? 0 : solver.instance().elapsed();
  plan.bound = {.energy_j = proof.bounds.energy, .time_s = proof.bounds.time, .any_order = proof.any_order};
  if (plan.question.objective == Objective::kEdp) plan.bound.edp_js = proof.bound;
  plan.certificate = std::move(proof.certificate);
  plan.lines = std::move(proof.lines);
  plan.separators = proved.separators();
  plan.gap = value > 0 ? std::max(0.0, (value - proof.bound) / value) : 0;
  plan.status = plan.gap <= options.gap ? Status::kOptimal : Status::kFeasible;
}

bool answers(const Plan& other, const CostGraph& graph, const PlanOptions& options) {
  if (problem::structure_hash(other.graph) != problem::structure_hash(graph) ||
      other.predicted.arena_bytes > options.question.budget_bytes())
    return false;
  for (const auto& [tensor, at] : options.fixed_initial)
    if (const auto own = other.initial.find(tensor); own == other.initial.end() || own->second != at) return false;
  const std::optional<Predicted> now = predict(graph, other);
  return now && now->arena_bytes <= options.question.budget_bytes() &&
         (!options.question.deadline || now->time_s <= *options.question.deadline) &&
         (!options.question.energy_limit || now->energy_j <= *options.question.energy_limit);
}

void keep_better_warm_start(std::optional<Plan>& best, const CostGraph& graph, const PlanOptions& options) {
  if (options.warm_start == nullptr || !answers(*options.warm_start, graph, options)) return;
  Plan warm = *options.warm_start;
  warm.graph = graph;
  warm.predicted = *predict(graph, warm);
  warm.question = options.question;
  if (!best || value_of(warm) <= value_of(*best)) best = std::move(warm);
}

}  // namespace pantoum::plan
