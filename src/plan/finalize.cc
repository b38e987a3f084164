#include "plan/finalize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "plan/bound/tolerances.h"
#include "plan/freedoms_used.h"
#include "plan/realize/other_program.h"
#include "plan/realize/predict.h"
#include "plan/realize/upper_end.h"
#include "plan/solver.h"
#include "problem/objective_values.h"

namespace pantoum::plan {

using problem::Instruction;
using problem::Status;
namespace {

// Does the plan first compute its ops in the model's order, for which alone certificates of one order hold?
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

// What is stated of the objective: what certificates prove of the plan's order, or of any, or else what can be read off
// the graph.
Prover::Proof stated_of(const Plan& plan, double value, const Solver& solver) {
  const Prover& proved = solver.proved();
  const Bounds derived = solver.instance().limited;
  const Objective objective = plan.question.objective;
  const double least =
      objective == Objective::kEdp ? derived.product : value_of(objective, derived.energy, derived.time);
  Prover::Proof proof = keeps_order(plan, solver.instance().model) ? proved.proof(value) : proved.any_order_proof();
  const bool certified = (proof.certificate || !proof.lines.empty()) && proof.bound > least;
  return certified ? proof : Prover::Proof{.bound = least, .bounds = derived, .any_order = true};
}

// As a share of the value, rounded up, as the checker has it. Of one that is hardly a number, nothing is proved.
double gap_of(const Plan& plan, double value, double bound) {
  constexpr double kLeast = 1e-290;
  const auto& [peak, arena, time, energy] = plan.predicted;
  const bool nothing = plan.question.objective == Objective::kEdp ? std::min(time, energy) == 0 : value == 0;
  if (nothing) return 0;
  if (!(value > kLeast)) return 1;
  constexpr double kRoundings = 4 * std::numeric_limits<double>::epsilon();
  return std::clamp((value - bound) / value * (1 + kRoundings), 0.0, 1.0);
}

}  // namespace

void finalize(Plan& plan, const CostGraph& original, const Solver& solver, const PlanOptions& options) {
  plan.graph = original;
  plan.method = "policies with thresholds: greedy, annealing, exchanges; linear relaxation with cuts, branch and bound";
  const Prover& proved = solver.proved();
  const double value = upper_end(plan, upper_end(plan, value_of(plan)));  // of a product of two
  Prover::Proof stated = stated_of(plan, value, solver);
  plan.solver_seconds = options.effort > 0 ? 0 : solver.instance().elapsed();
  plan.bound = {.energy_j = stated.bounds.energy, .time_s = stated.bounds.time, .any_order = stated.any_order};
  if (plan.question.objective == Objective::kEdp) plan.bound.edp_js = stated.bound;
  plan.certificate = std::move(stated.certificate);
  plan.lines = std::move(stated.lines);
  plan.separators = proved.separators();
  plan.gap = gap_of(plan, value, stated.bound);
  plan.asked_gap = options.gap;
  plan.status = plan.gap <= options.gap ? Status::kOptimal : Status::kFeasible;
}

Plan without_proof(Plan plan) {
  plan.bound = {};
  plan.certificate.reset();
  plan.lines.clear();
  plan.separators.clear();
  plan.gap = 1;
  plan.status = Status::kFeasible;
  return plan;
}

bool answers(const Plan& other, const CostGraph& graph, const PlanOptions& options) {
  if (problem::structure_hash(other.graph) != problem::structure_hash(graph) ||
      other.predicted.arena_bytes > options.question.budget_bytes())
    return false;
  for (const auto& [tensor, at] : options.fixed_initial)
    if (const auto own = other.initial.find(tensor); own == other.initial.end() || own->second != at) return false;
  const std::optional<Predicted> now = predict(graph, other);
  return now && now->arena_bytes <= options.question.budget_bytes() &&
         (!options.question.deadline || upper_end(other, now->time_s) <= *options.question.deadline) &&
         (!options.question.energy_limit || upper_end(other, now->energy_j) <= *options.question.energy_limit) &&
         keeps_freedoms(graph, other, options.question.freedoms);
}

namespace {

// Does what the other programs hold have room where this plan leaves what they share?
bool serves_others(const Plan& plan, const PlanOptions& options, Bytes align) {
  if (options.others == nullptr) return true;
  return std::all_of(options.others->begin(), options.others->end(), [&](const OtherProgram& other) {
    return offsets_beside(other, plan.initial, align, options.question.budget_bytes()).has_value();
  });
}

}  // namespace

void keep_better_warm_start(std::optional<Plan>& best, const CostGraph& graph, const PlanOptions& options) {
  if (options.warm_start == nullptr || !answers(*options.warm_start, graph, options)) return;
  Plan warm = *options.warm_start;
  warm.graph = graph;
  warm.predicted = *predict(graph, warm);
  warm.question = options.question;
  const double most = best ? value_of(*best) : std::numeric_limits<double>::infinity();
  const bool serves = serves_others(warm, options, std::max<Bytes>(1, graph.device.align_bytes));
  if (serves ? value_of(warm) <= most : value_of(warm) < most) best = std::move(warm);
}

}  // namespace pantoum::plan
